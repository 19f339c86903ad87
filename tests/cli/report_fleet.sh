#!/bin/sh
# report_fleet.sh - what a report says of a fleet's store, to the letter: the whole of it, parts, JSON and its schema.
. "$(dirname "$0")/lib.sh"

make=${MAKE_FLEET:?set MAKE_FLEET to the built make_fleet}
expected=$here/expected
utf8=$(locale -a 2>/dev/null | grep -i -m 1 -e '^C\.utf-\{0,1\}8$' -e '\.utf-\{0,1\}8$')

for kind in shop holes hostile empty; do
	"$make" "$kind" "$kind.tare" || fail "a store of $kind can be made"
done

report() {
	run env LC_ALL="${utf8:-C}" TERM=xterm "$tare" report "$@"
}

# How large a database is, is not ours to say.
same() {
	sed 's/^store   .*/store   S/' <out >seen && diff -u "$1" seen
}

# as NAME ARGUMENTS: expected/report_fleet_NAME.txt is what the terminal shows
as() {
	name=$1
	shift
	report "$@"
	[ -z "${KEEP_EXPECTED:-}" ] || sed 's/^store   .*/store   S/' <out >"$KEEP_EXPECTED/report_fleet_$name.txt"
	status_is 0 && same "$expected/report_fleet_$name.txt"
}

fits_in_80() {
	[ "$(LC_ALL=${utf8:-C} wc -L <out)" -le 80 ]
}

small_price() {
	report holes.tare
	status_is 0 && grep -q "^shop-2 .* <0\.01" out && ! grep -q "[0-9]under 0" out
}

no_controls() {
	! LC_ALL=C grep -q '[[:cntrl:]]' out
}

valid() {
	"$tare" report --json-schema collect >schema.json && "$tare" report --json "$1" >out.json &&
		python3 "$here/valid.py" schema.json out.json
}

json_says() {
	"$tare" report --json "$1" | python3 -c "
import json, sys
r = json.load(sys.stdin)
sys.exit(0 if ($2) else 'not so')"
}

if [ -n "$utf8" ]; then
	check 'a plan that changed, with both plans, and what collecting cost' as shop shop.tare
	check 'it stands in 80 columns' fits_in_80
	check 'every row, and cost by server' as shop_all --all shop.tare
	check 'only the last ten minutes' as shop_last --last 10min shop.tare
	check 'a small price stands in its column' small_price
	check 'names and texts that would take over a terminal' as hostile hostile.tare
	check 'no byte that a terminal obeys is printed' no_controls
	check 'nothing yet' as empty empty.tare
else
	skip 'what a terminal shows' 'there is no UTF-8 locale'
fi
if command -v python3 >/dev/null; then
	for kind in shop hostile empty; do
		check "the JSON of $kind is as its schema says" valid "$kind.tare"
	done
	check 'a queryid is a string of 64 bits' json_says shop.tare "r['statements'][0]['queryid'] == '-7221450918'"
	check 'what was not measured is null with a reason' json_says shop.tare \
		"r['statements'][0]['wal_bytes'] is None and r['statements'][0]['wal_bytes_reason'] == 'not measured'"
	check 'the plan last seen comes first, then the one before' json_says shop.tare \
		"[json.loads(p['content'])[0]['Plan']['Node Type'] for p in r['statements'][0]['kept_plans']] == ['Sort', 'Index Scan']"
else
	skip 'the JSON' 'there is no python3'
fi

# page_says KIND EXPRESSION OF d, THE DATA OF ITS PAGE, AND h, ALL OF IT
page_says() {
	rm -f page.html
	run "$tare" report --html page.html "$1.tare" && status_is 0 && python3 -c "
import json, re, sys
h = open('page.html', encoding='utf-8').read()
d = json.loads(re.search(r'id=\"data\">(.*?)</script>', h, re.S).group(1))
sys.exit(0 if ($2) else 'not so')"
}

if command -v python3 >/dev/null && "$tare" report --html viewer.html empty.tare 2>/dev/null; then
	check 'page: runs that came to the same are one row with their count' page_says holes \
		"[(r['server'], r['count'], r['outcome']) for r in d['runs']] == [('archive', 120, 'error'), ('shop-2', 70, 'error')]"
	check 'page: a mark a visit, with its capture; a hole where it failed' page_says holes \
		"{s['server']: s['marks'][-12:] for s in d['servers']} == {'shop-1': 'vcvvvcvvvcvv', 'shop-2': 'xxcvvvcvvvcv', 'archive': 'x' * 12}"
	check 'page: who did not capture in its turn is owed' page_says holes "[s['server'] for s in d['servers'] if 'owed' in s] == ['shop-1']"
	check 'page: both plans of a change, with their content, the one before first' page_says shop \
		"[(p['role'], json.loads(p['content'])[0]['Plan']['Node Type']) for p in d['plans'][:2]] == [('before', 'Index Scan'), ('now', 'Sort')]"
	check 'page: time over slots adds up to the statement'"'"'s' page_says shop "sum(d['lines'][0]['cells'][1::3]) == 120 * 400"
	check 'page: a restart and a time away make shares unsure, in the head too' page_says holes \
		"'±' in d['lines'][0]['share'] and h.index(d['lines'][0]['share'].split('\\u00a0±')[0]) < h.index('id=\"data\"')"
	check 'page: without holes a share is exact' page_says shop "'±' not in d['lines'][0]['share']"
	check 'page: what draws plans is only where one is' page_says empty "len(h) < 200000 and 'plan-node' not in h"
else
	skip 'the page' 'there is no python3, or no viewer'
fi

schema_is_in_docs() {
	run "$tare" report --json-schema collect
	out_is "$here/../../docs/report-collect.schema.json"
}
check 'the schema is the one in docs' schema_is_in_docs

wants_a_watch() {
	run "$tare" report --slow shop.tare
	status_is 2 && err_has 'only a watch has them'
}
check 'slow frames of a fleet: a clear answer' wants_a_watch
end
