#!/bin/sh
# watch_spending.sh - functions of php's and sqlite3's own while these run: every call is counted, and what watching spends is
# by the ledger at most twice the price in the first window and inside the price in later ones.
#
# The price is set so that timing every call, which is asked for, would take a quarter more than it: intervals have to give way.
. "$(dirname "$0")/lib.sh"

"$tare" watch -q -d 200ms -o try.tare malloc -p $$ >try.log 2>&1 || skip_all "probes cannot be had here: $(head -n 1 try.log)"
command -v sqlite3 >/dev/null || skip_all 'no sqlite3 to read a recording with'
hook=$(sqlite3 -readonly try.tare 'select hook from watch')

rows() {
	sqlite3 -readonly "$1" "$2"
}
true_in() {
	got=$(rows "$1" "select $2") && [ "$got" = 1 ] || {
		echo "got '$got'; the ledger, and what it is made of:"
		rows "$1" 'select id, window_ns, kernel_ns, sample_ns, fixed_ns, ticks, kept from ledger'
		rows "$1" 'select price_limit_ppm from recording'
		rows "$1" 'select name, mode, untimed_ps, extra_ps, hook_ps from watched'
		return 1
	}
}
calls_of() {
	got=$(rows "$1" "select sum(calls + never_timed) from window w join watched f on f.id = w.watched where f.name = '$2'")
	[ -n "$got" ] && [ "$got" -ge "$3" ] && [ "$got" -le "$4" ] || {
		echo "counted '$got'"
		return 1
	}
}

# price_for PROGRAM FUNC CALLS_A_SECOND PERCENT: of what timing all calls would cost.
price_for() {
	"$tare" watch --list --json -i 1 "$1" "$2" >listed.json 2>list.err
	sqlite3 :memory: "select printf('%.3f%%', $3 * 1e-12 * $4 * (value->>'call_ps')) from
		(select value from json_each(readfile('listed.json'), '\$.functions')) where value->>'name' = '$2'"
}

limit='(select price_limit_ppm from recording)'

# Whole windows with what they spent, calls by the ledger and our own looks at them, as a part of the price; what it would
# have been with every call timed; and the calls of the window before.
windows="(select id, ticks, kept, (kernel_ns + sample_ns + fixed_ns) * 1e6 / window_ns / $limit as spent,
	1e3 * ticks * (select max(untimed_ps + hook_ps + extra_ps) from watched) / window_ns / $limit as all_timed,
	lag(ticks) over (order by id) as before from ledger where window_ns > 900000000)"

spends() {
	check "$1: there is more than one window" true_in "$2" "count(*) >= 3 from $windows"
	check "$1: the first window spends at most twice the price" true_in "$2" "spent <= 2 from $windows where id = 0"
	check "$1: a later one with no more calls than the one before spends no more than the price" true_in "$2" \
		"count(*) >= 1 and max(spent) <= 1 from $windows where ticks <= 1.05 * before"
	check "$1: one with more calls spends at most twice the price" true_in "$2" "max(spent) <= 2 from $windows"
	check "$1: the ledger is calls and timed calls at their costs" true_in "$2" \
		"abs(1.0 * (select sum(kernel_ns) * 1000 from ledger) / sum((calls + never_timed) * (untimed_ps + hook_ps) + (firsts + others) * extra_ps) - 1) < 0.02
		from window w join watched f on f.id = w.watched"
	check "$1: never sliced" true_in "$2" "min(covered_ns >= 0.99 * span_ns) from window"
}

# A program whose calls are timed gives way by intervals; one that may switch stacks is only counted without sessions.
gives_way() {
	if rows "$2" "select mode from watched where why_not = ''" | grep -q '^counting: '; then
		check "$1: it is counted only, and the row says why" true_in "$2" \
			"sum(firsts + others) = 0 and min(f.mode like 'counting: it can switch stacks (%') from window w join watched f on f.id = w.watched"
	else
		check "$1: calls are timed" true_in "$2" "sum(firsts + others) >= 500 from window"
		check "$1: every one at first, fewer when that is over the price" true_in "$2" \
			"(select kept > 0.6 * ticks from $windows where id = 0) and
			((select max(all_timed) <= 0.95 from $windows) or (select 1.0 * sum(kept) / sum(ticks) < 0.8 from $windows where id > 0))"
	fi
}

# Some 55,000 calls a second: enough that our own work is small beside the price.
cat >job.php <<'PHP'
<?php
$parts = range(1, 20);
$sum = 0;
for ($i = 0; $i < 80000; $i++) {
	$text = implode(',', $parts);
	$sum += strlen(serialize($parts)) + count(explode(',', $text));
	if ($i % 8 == 7)
		usleep(300);
}
echo "sum $sum\n";
PHP
if command -v php >/dev/null; then
	php=$(command -v php)
	part=80
	[ "$hook" = session ] || part=200
	price=$(price_for "$php" php_implode 55000 "$part")
	"$php" -n job.php >plain
	run "$tare" watch --interval 1 --price "$price" --window 1s -o php.tare php_implode php_explode php_var_serialize zend_sort \
		php_no_such -- "$php" -n job.php
	check "php, at a price of $price: its status" status_is 0
	check 'php: its output is the same' cmp plain out
	for name in php_implode php_explode php_var_serialize; do
		check "php: every call of $name is counted" calls_of php.tare "$name" 80000 80000
	done
	check 'php: names are those that it exports' err_has 'watching php_var_serialize (php'
	check 'php: a name that it has not is told' err_has 'not watching php_no_such'
	spends php php.tare
	gives_way php php.tare
elif [ -n "${CI-}" ]; then
	fail 'php: every call is counted' 'php is not here, and a run for all to see must have it'
else
	skip 'php: every call is counted' 'php is not here'
fi

# Ten statements a second, of 3,200 rows each: enough that our own work is small beside the price. It begins when sqlite3 asks for it: what waited would come all at once.
cat >statements.sh <<'SH'
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40; do
	echo 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 3200) select i from n;'
	sleep 0.1
done
SH
part=80
[ "$hook" = session ] || part=130 # timing adds little to return probes, which all calls have
price=$(price_for "$(command -v sqlite3)" sqlite3_step 64000 "$part")
sqlite3 -batch :memory: ".read '|sh statements.sh'" >plain
run "$tare" watch --interval 1 --price "$price" --window 1s -o sqlite.tare sqlite3_step sqlite3_column_text -- \
	sqlite3 -batch :memory: ".read '|sh statements.sh'"
check "sqlite3, at a price of $price: its status" status_is 0
check 'sqlite3: its output is the same' cmp plain out
check 'sqlite3: every row is a step, and one ends each statement' calls_of sqlite.tare sqlite3_step 128040 128060
check 'sqlite3: every row has its column read' calls_of sqlite.tare sqlite3_column_text 128000 128020
spends sqlite3 sqlite.tare
gives_way sqlite3 sqlite.tare
end
