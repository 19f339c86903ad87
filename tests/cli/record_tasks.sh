#!/bin/sh
# record_tasks.sh - a job says what it works on, from shell, Python and PHP; processes and callees as tasks; who is refused.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v sqlite3 >/dev/null || skip_all 'no sqlite3'
PATH=$(dirname "$tare"):$PATH
# What a recorder that is killed leaves is in our folder.
XDG_RUNTIME_DIR=$place
export PATH XDG_RUNTIME_DIR

ask() {
	sqlite3 -readonly "$1" "$2"
}

# says FILE QUERY WANT
says() {
	got=$(ask "$1" "$2")
	[ "$got" = "$3" ] || {
		echo "wanted '$3', have '$got'"
		return 1
	}
}

# A shell that works in its own process: no sleeps.
cat >job.sh <<'END'
work() {
	i=0
	while [ $i -lt "$1" ]; do i=$((i + 1)); done
}
tare mark import
work 60000
tare mark import
work 300000
tare mark export
sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done'
tare mark --end
work 30000
END
run "$tare" record -q --tasks marks --every 1ms -o job.tare -- sh job.sh
check 'a job with marks ends with its own status' status_is 0
check 'each mark began a task, the same name twice is two' says job.tare \
	'SELECT group_concat(name) FROM (SELECT name FROM task ORDER BY id)' import,import,export
check 'their ends were seen' says job.tare 'SELECT count(*) FROM task WHERE state = 1' 3
check 'names are counted' says job.tare "SELECT begun || ' ' || ended FROM task_name WHERE name = 'import'" '2 2'
check 'a task has the time of processes that its process made' says job.tare \
	"SELECT kept > 0 AND cpu_ns > 0 FROM task WHERE name = 'export'" 1
check 'what follows the end is in no task' says job.tare \
	'SELECT (SELECT sum(weight_ns) FROM task) < (SELECT weight_ns FROM recording)' 1
check 'the longer of two has more of the time' says job.tare \
	"SELECT (SELECT weight_ns FROM task WHERE id = 3) > (SELECT weight_ns FROM task WHERE id = 2)" 1
check 'weights of slots are those of their task, and it has contexts' says job.tare \
	'SELECT count(*) FROM task t WHERE weight_ns = (SELECT sum(running_ns + unsampled_ns) FROM slot WHERE task = t.id)
		AND EXISTS (SELECT 1 FROM context WHERE task = t.id)' 3
check 'all marks were taken' says job.tare 'SELECT marks_refused + mark_floods FROM recording' 0
check 'memory was seen, or says that it was not' says job.tare \
	'SELECT count(*) FROM task WHERE rss_bytes = 0' 0

run "$tare" report job.tare
check 'the report lists the tasks' out_has 'by task'
check 'with their names' out_has 'export'
run "$tare" report --task import job.tare
slowest=$(ask job.tare "SELECT id FROM task WHERE name = 'import' ORDER BY end_ns - begin_ns DESC LIMIT 1")
check 'one task by its name: the slowest' out_has "task $slowest, import"
run "$tare" report --task 2 job.tare
check 'one task by its number' out_has 'task 2, import'
run "$tare" report --task nothing job.tare
check 'a task that is not there is refused' status_is 2
check 'and the way to the list is told' err_has 'tare report --all'
run "$tare" report --task import --html x.html job.tare
check 'a page of one task is refused' status_is 2

run "$tare" report --html job.html job.tare
if grep -q 'built without its viewer' err; then
	skip 'the page has the tasks' 'no viewer'
else
	check 'the page has the tasks' grep -q '<section id="tasks">.*tasks by marks' job.html
fi
"$tare" report --json job.tare >job.json
check 'JSON has the tasks and the counts of their names' sh -c 'grep -q "\"top_function\"" job.json && grep -q "\"log2_count\"" job.json'

# The three lines of docs/tasks.md, as they stand there.
example() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$here/../../docs/tasks.md" | sed '1d;$d'
}
example sh | sed 's|^./import|true|' >example.sh
check 'docs/tasks.md has an example in shell' test -s example.sh
run "$tare" record -q --tasks marks -o sh.tare -- sh example.sh
check 'the example in shell makes a task' says sh.tare 'SELECT name, state FROM task' 'import|1'
if command -v python3 >/dev/null; then
	example python >example.py
	run "$tare" record -q --tasks marks -o py.tare -- python3 example.py
	check 'the example in Python makes a task' says py.tare 'SELECT name, state FROM task' 'import|2'
else
	skip 'the example in Python makes a task' 'no python3'
fi
if command -v php >/dev/null && php -m | grep -qx sockets; then
	{
		echo '<?php'
		example php
	} >example.php
	run "$tare" record -q --tasks marks -o php.tare -- php example.php
	check 'the example in PHP makes a task' says php.tare 'SELECT name, state FROM task' 'import|2'
else
	skip 'the example in PHP makes a task' 'no php with sockets'
fi

# Who is not of the job is refused; so is what is no mark.
cat >outside.sh <<'END'
echo "$TARE_SOCKET" >socket.tmp && mv socket.tmp socket
i=0
while [ ! -e go ] && [ $i -lt 100 ]; do
	sleep 0.05
	i=$((i + 1))
done
tare mark inside
END
"$tare" record -q --tasks marks -o out.tare -- sh outside.sh 2>err &
recorder=$!
i=0
while [ ! -e socket ] && [ $i -lt 100 ]; do
	sleep 0.05
	i=$((i + 1))
done
TARE_SOCKET=$(cat socket) "$tare" mark intruder
touch go
wait "$recorder"
check 'a mark from outside the job is refused' says out.tare 'SELECT group_concat(name) FROM task' inside
check 'and counted' says out.tare 'SELECT marks_refused FROM recording' 1
check 'the socket is gone at the end' test ! -e "$(cat socket)"
run "$tare" mark x
check 'a mark without a recorder fails' status_is 2
check 'and says so in words' err_has 'TARE_SOCKET is not set'
run "$tare" mark -q x
check 'or is quiet' test "$status" -eq 0 -a ! -s err
run "$tare" mark
check 'a mark needs a name' status_is 2

# A job that dies leaves what it worked on.
cat >dies.sh <<'END'
tare mark last
i=0
while [ $i -lt 100000 ]; do i=$((i + 1)); done
kill -KILL $$
END
run "$tare" record -q --tasks marks --every 1ms -o dies.tare -- sh dies.sh
check 'a job that is killed has its status' status_is 137
check 'and its task its partial profile' says dies.tare 'SELECT name, state, kept > 10 FROM task' 'last|2|1'

# A recorder that dies leaves what it saved: the task that ran says so.
cat >long.sh <<'END'
echo $$ >long.pid
tare mark 'long </script><b>'
while :; do :; done
END
"$tare" record -q --tasks marks --every 1ms --price 100% -o killed.tare -- sh long.sh 2>err &
recorder=$!
i=0
until [ "$(ask killed.tare 'SELECT count(*) FROM task' 2>/dev/null || echo 0)" = 1 ] || [ $i -ge 100 ]; do
	sleep 0.1
	i=$((i + 1))
done
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
kill -KILL "$(cat long.pid)"
run "$tare" report --html killed.html killed.tare
check 'a recorder that is killed leaves a recording with its tasks' status_is 0
check 'a task that ran says so' says killed.tare 'SELECT state, kept > 10 FROM task' '0|1'
check 'and its socket' test "$(find . -name marks | wc -l)" = 1
run "$tare" record -q --tasks marks -o next.tare -- true
check 'the next recorder takes away the socket that was left' test "$(find . -name marks | wc -l)" = 0
[ ! -e killed.html ] || check 'a name is text on the page' sh -c '! grep -q "</script><b>" killed.html'

# Each process, and each program in it.
run "$tare" record -q --tasks processes -o proc.tare -- sh -c 'true; /bin/true; exec /bin/true'
check 'a process is a task, and so is another program in it' says proc.tare \
	"SELECT sum(name = 'true') >= 2, sum(name = 'sh') >= 2, sum(state = 0) FROM task" '1|1|0'
check 'one that was shorter than a period has its duration' says proc.tare \
	'SELECT count(*) FROM task WHERE end_ns <= begin_ns' 0

sh -c 'while :; do :; done' &
there=$!
run "$tare" record -q --tasks processes --every 1ms -d 300ms -o there.tare -p "$there"
kill -KILL "$there"
check 'a process that runs already is a task from the start' says there.tare \
	'SELECT name, state, begin_ns, kept > 10 FROM task' 'sh|0|0|1'

# What a function calls.
cat >under.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void nightly_import(void) { spin(40000000); sink++; }
__attribute__((noinline)) void nightly_export(void) { spin(80000000); sink++; }
__attribute__((noinline)) void run_task(void (*task)(void)) { task(); sink++; }
int main(void)
{
	run_task(nightly_import);
	run_task(nightly_export);
	return 0;
}
END
if ${CC:-cc} -O1 -g -fno-optimize-sibling-calls -o under under.c 2>/dev/null; then
	run "$tare" record -q --task-under run_task --every 1ms -o under.tare -- ./under
	check 'the callee of a named frame is the task' says under.tare \
		'SELECT group_concat(name) FROM (SELECT name FROM task ORDER BY id)' nightly_import,nightly_export
	check 'and ends when the callee changes' says under.tare \
		'SELECT state FROM task ORDER BY id LIMIT 1' 1
else
	skip 'the callee of a named frame is the task' 'no compiler'
fi

# Words that cannot be.
for words in '--tasks nonsense' '--tasks marks --keep odd' '--tasks marks --task-under f' '--per-name 0 --tasks marks' \
	'--tasks marks --max-size 256KB'; do
	# shellcheck disable=SC2086
	run "$tare" record $words -o no.tare -- true
	check "refused: $words" status_is 125
	check "with a way to mend it: $words" test "$(wc -l <err)" -ge 2
done
run "$tare" record --tasks marks -o no.tare -p $$
check 'marks of a process that runs already are refused' status_is 2
run "$tare" record -q -o none.tare -- sh -c 'test -z "$TARE_SOCKET"'
check 'without --tasks the job sees no socket' status_is 0
check 'and the recording has no tasks' says none.tare "SELECT task_source || tasks FROM recording" 0
end
