#!/bin/sh
# watch_inside.sh - a program that links libtare is watched from its start to its end, without any right.
. "$(dirname "$0")/lib.sh"

colony=${COLONY-}
[ -n "$colony" ] || skip_all "the example is not built here"
rows() {
	sqlite3 -readonly "$1" "$2"
}
# value_is FILE QUERY WANT
value_is() {
	got=$(rows "$1" "$2") && [ "$got" = "$3" ] || {
		echo "got '$got', want '$3'"
		return 1
	}
}
# true_in FILE CONDITION-QUERY
true_in() {
	value_is "$1" "select $2" 1
}

"$colony" 60000 0 >plain
run "$tare" watch --window 1s --slow 200us --interval 1 -o c.tare -- "$colony" 60000 12000
check "the command's status is the status" status_is 0
check 'the output is the same as without' cmp plain out
check 'the start says that scopes are watched as they are named' err_has 'watching the scopes of libtare in colony'
check 'each name gets a line with its price' err_has 'watching paths at '
check 'the summary is there' err_has 'look: tare report c.tare'
check 'the price is on it' err_has 'price '
if ! command -v sqlite3 >/dev/null; then
	skip 'the rows are right' 'sqlite3 is not here'
	end
fi
systems="'weather','growth','evaporation','hunger','ageing','tasks','paths','movement','gathering','delivery','scents','births'"
check 'every call of every system is counted, but for those before tare was attached' true_in c.tare \
	"min(n) between 40000 and 60000 and count(*) = 12 from (select sum(calls + never_timed) n from window w join watched f on f.id = w.watched where f.name in ($systems) group by f.id)"
check 'all systems have the same number of calls, within one window edge' true_in c.tare \
	"max(n) - min(n) <= 12 from (select sum(calls + never_timed) n from window w join watched f on f.id = w.watched where f.name in ($systems) group by f.id)"
check 'frames are counted' true_in c.tare 'frames between 40000 and 60000 from watch'
check 'it is finished, by its end' true_in c.tare "is_finished and ended_by = 'exit' from recording"
check 'its instrument is watch' true_in c.tare "instrument = 'watch' from recording"
check 'costs were measured, or are said to be assumed' true_in c.tare \
	'min(untimed_ps + assumed_untimed_ps) > 0 from watched'
check 'the charge is what its parts say' true_in c.tare \
	'abs(charged_ps - kernel_ns * 1000) <= 1000 * windows from watch, recording'
# On a busy machine most slow frames are waiting, and that falls on whatever runs. Whether a frame has a long search does
# not depend on the load: such a frame must name it first.
searches="from slow_part p join watched w on w.id = p.watched where w.name = 'paths' and own_ns > 1000000"
check 'slow frames are kept' true_in c.tare 'count(*) >= 100 from slow_frame'
check 'and those with a long search name it as their largest part' true_in c.tare \
	"count(*) >= 20 and total(place = 0) >= 0.9 * count(*) $searches"
check 'a slow frame is the sum of its parts' true_in c.tare \
	'count(*) = 0 from slow_frame s where duration_ns != rest_ns + other_ns + (select total(own_ns) from slow_part p where p.slow = s.id)'

run "$tare" watch --window 1s -o some.tare paths 'hung*' '/^age/' nobody -- "$colony" 10000 5000
check 'names choose among scopes: status 0' status_is 0
check 'by name, glob and expression' value_is some.tare \
	"select group_concat(name) from (select name from watched where kind = 1 order by name)" ageing,hunger,paths
if true_in some.tare "count(*) > 0 from watched where kind = 0 and name = 'paths' and why_not = ''" >/dev/null; then
	check 'a function and a scope of one name: one line says that both are watched' test \
		"$(grep -c 'paths is watched twice, in rows of their own: the function in colony, and the scope of libtare' err)" -eq 1
	check 'and the report tells them apart' sh -c '"$1" report some.tare >told && grep -q "the function in colony" told && grep -q "the scope of libtare" told' - "$tare"
else
	skip 'a function and a scope of one name: one line says that both are watched' 'probes cannot be had here'
fi
check 'a name that is not there is told' err_has 'not watching nobody: '
check 'and listed with its reason' true_in some.tare "why_not <> '' from watched where name = 'nobody'"

"$colony" 0 2000 >/dev/null &
alive=$!
sleep 0.3
run "$tare" watch -d 2s --window 1s --json -o p.tare -p "$alive"
check 'a process that runs already is watched: status 0' status_is 0
check '--json prints one object with its version' out_has '"schema_version": 1'
check 'and what was counted' out_has '"calls": '
one_line() {
	[ "$(wc -l <out)" -eq 1 ]
}
check 'in one line' one_line
if command -v python3 >/dev/null; then
	check 'that is JSON' python3 -m json.tool out
else
	skip 'that is JSON' 'python3 is not here'
fi
check 'the process goes on' kill -0 "$alive"
run "$tare" watch --list -p "$alive"
check '--list shows its scopes' out_has paths
check 'with their price' out_has 'in process'
"$tare" watch -q -o first.tare --window 1s -p "$alive" &
first=$!
sleep 1
run "$tare" watch -q -o second.tare -p "$alive"
check 'a second recorder is refused' status_is 2
check 'and told why' err_has 'another'
kill -KILL "$first"
wait "$first" 2>/dev/null
sleep 0.2
run "$tare" watch -q -d 1s -o third.tare -p "$alive"
check 'after a killed recorder the next one can watch' status_is 0
run "$tare" report first.tare
check 'the recording of the killed one opens' status_is 0
kill "$alive"
end
