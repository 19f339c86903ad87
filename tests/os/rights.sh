#!/bin/sh
# rights.sh - a user who is not root, in the group to which a tare with three rights was given, records and watches the processes of
# others, by engines perf and bpf; others may not start it.
. "$(dirname "$0")/../cli/lib.sh"
spinner=${SPINNER:?set SPINNER to the built spinner}
give=$here/../../packaging/give-rights.sh

[ "$(id -u)" -eq 0 ] || skip_all 'needs root, to give rights and to be somebody else'
command -v setcap >/dev/null || skip_all 'no setcap'
"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
chmod 755 .
cp "$tare" given
mkdir out.d
chmod 777 out.d
"$give" given nogroup 2>err || skip_all "no rights of files: $(cat err)"
check 'who gives none says so' sh -c '! "$1" given 2>/dev/null && ! "$1" none nogroup 2>/dev/null' sh "$give"

# somebody USER COMMAND...: as a user without any right; nobody is of nogroup, daemon is not.
somebody() {
	user=$1
	shift
	run runuser -u "$user" -- "$@"
}

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

somebody daemon ./given --version
check 'a user of another group may not start it' test "$status" -ne 0
"$spinner" 60 1 >/dev/null &
job=$!
for engine in perf bpf; do
	if ! "$tare" record -q --engine "$engine" -f -o root.tare -- true 2>err; then
		if [ "$engine" = bpf ] && grep -qE 'no BPF programs|built without BPF' err; then
			skip "engine $engine with three rights" "$(head -n 1 err)"
		else
			fail "engine $engine with three rights" "$(cat err)"
		fi
		continue
	fi
	somebody nobody ./given record -q --engine "$engine" --every 2ms --price 100% -d 1s -o "out.d/$engine.tare" -p "$job"
	check "engine $engine samples a process of root" status_is 0
	run "$tare" report --json "out.d/$engine.tare"
	kept=$(number kept)
	whole=$(number whole_stacks)
	check "engine $engine: its stacks are whole, its files were read ($whole of $kept)" \
		test "${kept:-0}" -ge 100 -a "$((${whole:-0} * 100))" -ge "$((${kept:-0} * 95))"
	run "$tare" report --all "out.d/$engine.tare"
	check "engine $engine: with the names of its functions" out_has main
done
kill "$job"
cd out.d || exit 99
somebody nobody ../given doctor
check 'doctor says that other processes can be sampled' grep -q "other processes  *works" out
check 'doctor says that probes work' grep -q 'probes  *works' out
end
