#!/bin/sh
# collect_top.sh - the live view of a fleet: one frame as text, frames below each other in a pipe, drawn over each other on a terminal.
. "$(dirname "$0")/lib.sh"

make=${MAKE_FLEET:?set MAKE_FLEET to the built make_fleet}
for kind in shop hostile empty; do
	"$make" "$kind" "$kind.tare" || fail "a store of $kind can be made"
done

top() {
	run "$tare" collect top --once "$@"
	status_is 0
}

shop_frame() {
	top shop.tare && out_has 'statements by time' && out_has 'servers' && out_has 'shop-1' && out_has 'UPDATE stock SET he' &&
		out_has '2 of 3 servers visited' && out_has 'DataFileRead' && out_lacks 'collector'
}

# The plan of statement 1 changed within the two hours, not within the last two minutes.
only_the_last() {
	top shop.tare && out_has 'the last 2 min' && calls=$(grep -c . out) && top --last 1h shop.tare && out_has 'the last 1 h' && [ "$calls" -gt 5 ] &&
		out_has changed
}

no_controls() {
	top "$1" && ! LC_ALL=C grep -q '[[:cntrl:]]' out
}

nothing_yet() {
	top empty.tare && out_has 'nothing was collected yet'
}

no_store() {
	run "$tare" collect top --once nowhere.tare
	status_is 2 && err_has nowhere.tare && [ ! -e nowhere.tare ]
}

too_many() {
	run "$tare" collect top shop.tare shop.tare
	status_is 2 && err_has 'tare collect top [STORE]'
}

# Plain frames until it is told to stop.
in_a_pipe() {
	"$tare" collect top shop.tare >frames 2>err </dev/null &
	pid=$!
	sleep 3.5
	kill -INT $pid
	wait $pid || return 1
	[ "$(grep -c 'statements by time' frames)" -ge 2 ] && ! LC_ALL=C grep -q '[[:cntrl:]]' frames
}

nobody_reads() {
	"$tare" collect top shop.tare 2>err </dev/null | head -n 1 >frames
	[ -s frames ] && [ ! -s err ]
}

# terminal KEY-OR-SIGNAL: in a terminal of 20 lines; what it wrote is in screen
terminal() {
	python3 - "$tare" "$1" <<-'PY'
		import fcntl, os, pty, select, signal, struct, sys, termios, time
		master, slave = pty.openpty()
		fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 20, 80, 0, 0))
		before = termios.tcgetattr(slave)
		pid = os.fork()
		if pid == 0:
		    os.setsid()
		    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
		    for fd in (0, 1, 2):
		        os.dup2(slave, fd)
		    os.environ['TERM'] = 'xterm'
		    os.execv(sys.argv[1], ['tare', 'collect', 'top', 'shop.tare'])
		seen, until, sent = b'', time.time() + 30, False
		during = None
		while time.time() < until:
		    if select.select([master], [], [], 0.1)[0]:
		        seen += os.read(master, 65536)
		    if not sent and seen.count(b'\x1b[H') >= 2:
		        during = termios.tcgetattr(slave)
		        os.write(master, {'q': b'q', 'break': b'\x03', 'other': b'x'}[sys.argv[2]])
		        sent = True
		    ended, status = os.waitpid(pid, os.WNOHANG)
		    if ended:
		        break
		else:
		    os.kill(pid, signal.SIGKILL)
		    sys.exit('it did not end')
		while select.select([master], [], [], 0)[0]:
		    seen += os.read(master, 65536)
		open('screen', 'wb').write(seen)
		assert status == 0, status
		assert b'\x1b[?1049h' in seen and seen.rstrip().endswith(b'\x1b[?1049l'), seen[-60:]
		assert not during[3] & termios.ECHO
		assert termios.tcgetattr(slave) == before, 'the terminal is not as it was'
		frame = seen.split(b'\x1b[H')[1]
		assert frame.count(b'\n') <= 19, frame.count(b'\n')
		assert frame.endswith(b'\x1b[J')
	PY
}

check 'one frame: statements, servers, waits' shop_frame
check 'only so far back as is asked for' only_the_last
check 'no escape codes' no_controls shop.tare
check 'nor of names that would take over a terminal' no_controls hostile.tare
check 'nothing yet' nothing_yet
check 'a store that is not there is not made' no_store
check 'one store' too_many
check 'in a pipe: frame after frame as plain text, until it is interrupted' in_a_pipe
check 'nobody reads any more: it ends without a word' nobody_reads
if command -v python3 >/dev/null; then
	check 'on a terminal: drawn over each other, and q ends it and gives the terminal back' terminal q
	check 'and so does Ctrl-C' terminal break
else
	skip 'on a terminal' 'there is no python3'
fi
end
