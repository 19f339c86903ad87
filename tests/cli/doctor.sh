#!/bin/sh
# doctor.sh - what works here, in words and in JSON; of watching too: may probes be used, how, and at what price.
. "$(dirname "$0")/lib.sh"

# value EXPRESSION: of the answer `a` in out, as python prints it.
value() {
	python3 -c 'import json, sys; a = json.load(open("out")); print(eval(sys.argv[1]))' "$1"
}
value_is() {
	got=$(value "$1") && [ "$got" = "$2" ] || {
		echo "got '$got', want '$2'"
		return 1
	}
}
row() {
	grep -E "^(ok|\.\.|NO) $1 +$2 +$3" out
}

run "$tare" doctor
check 'a line for probes' row probes '(works|partly)' .
check 'a line for their prices' row 'probe prices' '(works|partly)' 'a call counted nop5 .*, push .*, other '
check 'a line for libtare, with both prices' row libtare works 'a scope counted .*, timed [0-9.]+ ns'
check 'plain letters without UTF-8' test -z "$(tr -d '\n -~' <out)"
check 'the last line speaks of both' grep -Eq '^tare record .*; tare watch ' out
run "$tare" doctor --quick
check 'an option that is not known: status 2' status_is 2
run env TARE_NO=bpf "$tare" doctor
check 'without BPF: probes cannot be used' row probes partly 'cannot use probes'
check 'their prices are assumed, and say so' row 'probe prices' partly 'a call counted nop5 unmeasured \(.* assumed\)'
check 'what links libtare can be watched' out_has 'tare watch works here for programs that link libtare only'

command -v python3 >/dev/null || {
	skip 'the answer in JSON' 'python3 is not here'
	end
}
run env TARE_NO=bpf "$tare" doctor --json
check 'the JSON has its version' value_is 'a["schema_version"]' 1
check 'no way to attach: null, with the reason' value_is \
	'a["watch"]["mode"] is None and "switched off" in a["watch"]["mode_reason"]' True
check 'no price: null, with the reason' value_is \
	'[p["counted_ps"] is None and "assumed" in p["counted_ps_reason"] for p in a["watch"]["prices"] if p["of"] != "libtare"]' '[True, True, True]'
run "$tare" doctor --json
check 'every check has a name, a health and what was found' value_is \
	'len(a["checks"]) == 9 and all(c["name"] and c["found"] and c["health"] in ("works", "partly", "fails") for c in a["checks"])' True
check 'nothing to mend: null' value_is 'all((c["mend"] is None) == ("mend_reason" in c) for c in a["checks"])' True
if [ "$(value 'a["watch"]["has_probes"]')" = True ]; then
	check 'prices are measured where probes work: a trap costs most' value_is \
		'(lambda p: 0 < p["nop5"] < p["other"])({p["of"]: p["counted_ps"] for p in a["watch"]["prices"]})' True
	run env TARE_NO=session "$tare" doctor --json
	check 'sessions switched off: entry and return' value_is 'a["watch"]["mode"], a["watch"]["mode_why"] != ""' "('entry+return', True)"
	run env TARE_NO=multi "$tare" doctor --json
	check 'multi links switched off: one by one' value_is 'a["watch"]["mode"]' 'entry+return, one by one'
	if [ "$(id -u)" -eq 0 ]; then
		run setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all "$tare" doctor
		check 'not allowed: says the two rights that mend it' out_has 'cap_bpf,cap_perfmon'
	else
		skip 'not allowed: says the two rights that mend it' 'only root can give rights up'
	fi
else
	skip 'prices are measured where probes work' "$(value 'a["watch"]["mode_reason"]')"
fi
end
