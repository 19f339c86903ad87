#!/bin/sh
# report_page.sh - the page that `tare report --html` writes: whole or not at all, with a policy that fits what is in it.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
make_fleet=${MAKE_FLEET:?set MAKE_FLEET to the built make_fleet}

"$make" parser run.tare
run "$tare" report --html run.html run.tare
[ "$status" -eq 0 ] || ! grep -q 'built without its viewer' err || {
	check 'without a viewer: refused, with what still works and how to mend it' test "$(wc -l <err)" -eq 3
	check 'and no file is left' test ! -e run.html
	end
	exit
}
check 'the page is written, and named on stderr' err_has 'page: run.html'
check 'nothing goes to stdout' test ! -s out
check 'only its owner may read it' test "$(stat -c %a run.html)" = 600
check 'no temporary file is left' sh -c '[ "$(ls -A | grep -c "[.]tmp$")" -eq 0 ]'

# hash_of ELEMENT: of what stands in the one element of the page, as a policy says it.
hash_of() {
	tr '\n' '\001' <run.html | sed "s/.*<$1>//; s/<\/$1>.*//" | tr '\001' '\n' | openssl dgst -sha256 -binary | openssl base64
}

policy_has() {
	grep -o 'http-equiv="Content-Security-Policy" content="[^"]*"' run.html | grep -qF "$1"
}
check 'the policy forbids all but what is named' policy_has "default-src 'none'; script-src 'sha256-"
check 'neither unsafe-inline nor unsafe-eval' sh -c '! grep -o "content=\"default[^\"]*\"" run.html | grep -q unsafe'
check 'it comes before anything that it must hold for' sh -c '[ "$(grep -n Content-Security run.html | head -n 1 | cut -d: -f1)" -lt "$(grep -n "<style>" run.html | head -n 1 | cut -d: -f1)" ]'
check 'it has the hash of the style' policy_has "style-src 'sha256-$(hash_of style)'"
check 'it has the hash of the script' policy_has "script-src 'sha256-$(hash_of script)'"
check 'no element has a style or a handler of its own' sh -c '! sed "/^<script>/,\$d" run.html | grep -qE "<[^>]* (style|on[a-z]+)="'
check 'the answer stands in it before any script' sh -c 'sed "/<script/,\$d" run.html | grep -q "<h1 class=\"verdict\">44.0..%"'
check 'so does the label' sh -c 'sed "/<script/,\$d" run.html | grep -q "<dt>price</dt>"'
check 'so do the findings' sh -c 'sed "/<script/,\$d" run.html | grep -q "<article id=\"finding-1\">"'
check 'so do the first five' sh -c '[ "$(sed "/<noscript>/,\$d" run.html | grep -c "<tr><th scope=.row.")" -eq 5 ]'

# ---- names from outside ----

for kind in hostile watch_hostile; do
	"$make" "$kind" bad.tare
	run "$tare" report --force --html bad.html bad.tare
	check "$kind: written" status_is 0
	# The page's own elements, in the order of the page; a name adds none.
	check "$kind: the page has one script, its data, and one style" sh -c \
		'[ "$(grep -c "<script" bad.html)" -eq 2 ] && [ "$(grep -c "<style" bad.html)" -eq 1 ] && [ "$(grep -ci "</script>" bad.html)" -eq 2 ]'
	check "$kind: no image, frame, link or form" sh -c '! sed "/^<script>/,\$d" bad.html | grep -qiE "<(img|iframe|svg|link|form|object|embed|base|math)"'
	check "$kind: no control character but the line's end, and nothing hidden" sh -c \
		'! sed "/^<script>/,\$d" bad.html | LC_ALL=C tr -d "\n\t" | LC_ALL=C grep -qE "[[:cntrl:]]|$(printf "\342\200[\250-\256]")"'
	rm -f bad.tare bad.html
done

# ---- its file ----

run "$tare" report --html run.html run.tare
check 'a file of that name: refused' status_is 2
check 'it is left alone, and that is said' err_has 'untouched'
run "$tare" report --html run.html --force run.tare
check 'with --force it is replaced' status_is 0
before=$(cksum <run.tare)
run "$tare" report --html run.tare --force run.tare
check 'the recording itself is never replaced' sh -c '[ "$1" -eq 2 ] && [ "$(cksum <run.tare)" = "$2" ]' - "$status" "$before"
ln -s run.tare link.html
run "$tare" report --html link.html --force run.tare
check 'nor through a link' sh -c '[ "$1" -eq 2 ] && [ "$(cksum <run.tare)" = "$2" ]' - "$status" "$before"
run "$tare" report --html nowhere/run.html run.tare
check 'a folder that is not there: refused in at most three lines' test "$status" -eq 2 -a "$(wc -l <err)" -le 3

# ---- the other kinds ----

"$make" colony colony.tare
run "$tare" report --html colony.html colony.tare
check 'a watch has a page' test "$status" -eq 0 -a "$(stat -c %s colony.html)" -lt 1000000
"$make_fleet" shop fleet.tare
run "$tare" report --html fleet.html fleet.tare
check 'a fleet has one' test "$status" -eq 0 -a "$(stat -c %s fleet.html)" -lt 2500000
"$make" empty empty.tare
run "$tare" report --html empty.html empty.tare
check 'nothing sampled is a page, too' sh -c 'grep -q "No samples: it ran 4..ms" empty.html'
end
