#!/bin/sh
# watch_bad_input.sh - each bad input gets its own message with what, what still works and how to mend it; nothing is run.
. "$(dirname "$0")/lib.sh"

# refused STATUS TEXT SENTENCE ARGUMENT...
refused() {
	want=$1
	text=$2
	what=$3
	shift 3
	run "$tare" watch "$@"
	check "$what: status $want" status_is "$want"
	check "$what: says so" err_has "$text"
	check "$what: says how to mend it" err_has 'to mend it: '
	check "$what: leaves no file and runs nothing" nothing_happened
}

nothing_happened() {
	for file in *.tare* ran; do
		[ ! -e "$file" ] || return 1
	done
}

cat >job <<'SH'
#!/bin/sh
echo ran >ran
SH
chmod +x job

run "$tare" watch --help
check '--help: status 0' status_is 0
check '--help shows the forms' out_has '[FUNC...] -p PID | [FUNC...] -- CMD...'
refused 2 'neither a command nor a process' 'nothing named'
refused 2 'neither a command nor a process' 'a function without a process' strlen
refused 2 'neither a command nor a process' 'dashes without a command' strlen --
refused 125 'the nearest one is --price' 'a misspelt option' --prize 1% -- ./job
refused 125 "cannot use '10' for --window" 'a window without a unit' --window 10 -- ./job
refused 125 'cannot use windows of' 'a window that is too short' --window 500ms -- ./job
refused 125 'cannot use windows of' 'a window that is too long' --window 11min -- ./job
refused 125 'cannot time one call in 0' 'an interval of none' --interval 0 -- ./job
refused 125 'cannot time one call in 100' 'an interval over the most' --interval 100 --most-interval 50 -- ./job
refused 125 'cannot time one call in 5000 at least' 'a most that is too large' --most-interval 5000 -- ./job
refused 125 'cannot watch 0 functions' 'no functions' --functions 0 -- ./job
refused 125 'cannot keep a recording within' 'a size that is too small' --max-size 512KB -- ./job
refused 125 'cannot watch at a price of 0' 'a price of nothing' --price 0% -- ./job
refused 127 "cannot run 'no-such-command-here'" 'a command that is not found' strlen -- no-such-command-here
: >plain
run "$tare" watch strlen -- ./plain
check 'a command that cannot be executed: status 126' status_is 126
refused 2 'cannot watch process 4194304' 'a pid that nobody can have' strlen -p 4194304
refused 125 'in one recording' 'a process and a command' strlen -p 1 -- ./job
refused 125 "cannot watch 'no_such_function_here'" 'a function that is not there' no_such_function_here -- ./job
refused 125 'no function is named' 'no function, and no libtare' -- ./job
refused 125 'as the frame' 'a frame that is not there' --frame no_such_function_here strlen -- ./job
refused 125 'there is no such folder' 'a folder that is not there' -o nowhere/ strlen -- ./job
refused 2 'neither a program nor a process' 'a list of nothing' --list
refused 2 'cannot list and run' 'a list with a command' --list -- ./job
run "$tare" watch no_such_function_here -- ./job
check 'a refusal says what still works' err_has 'still works: '

echo precious >kept.tare
run "$tare" watch -o kept.tare strlen -- ./job
check 'a file that exists: not 0' test "$status" -ne 0
check 'a file that exists: stays as it was' grep -qx precious kept.tare
rm -f kept.tare
end
