#!/bin/sh
# watch_later.sh - what appears while the program runs is watched from then on: libraries, and libtare after an exec.
. "$(dirname "$0")/lib.sh"

command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not here to look into recordings'
rows() {
	sqlite3 -readonly "$1" "$2"
}
true_in() {
	got=$(rows "$1" "select $2") && [ "$got" = 1 ] || {
		echo "got '$got'"
		return 1
	}
}
no_probes=
"$tare" watch -q -d 200ms -o try.tare malloc -p $$ >try.log 2>&1 || no_probes=$(head -n 1 try.log)

cat >plug.c <<'C'
static volatile int sink;
void plug_me(void)
{
	sink++;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <unistd.h>
static volatile int sink;
__attribute__((noinline)) void host_me(void)
{
	sink++;
}
int main(void)
{
	void (*plug)(void) = 0;
	for (int i = 0; i < 40000 && access("stop", F_OK) != 0; i++) {
		host_me();
		if (i == 1000)
			plug = (void (*)(void))dlsym(dlopen("./libplug.so", RTLD_NOW), "plug_me");
		if (plug)
			plug();
		usleep(1000);
	}
}
C
# shellcheck disable=SC2086
if [ -n "$no_probes" ]; then
	skip 'a library that is loaded later is watched' "$no_probes"
elif ! $CC -O1 -shared -fPIC -o libplug.so plug.c 2>cc.log || ! $CC -O1 -o host host.c -ldl 2>>cc.log; then
	skip 'a library that is loaded later is watched' "no compiler: $(head -n 1 cc.log)"
else
	: >err
	"$tare" watch --window 1s --price 20% -o plug.tare host_me plug_me -- ./host >out 2>err &
	recorder=$!
	tries=0
	until grep -qF 'watching plug_me (libplug.so) at ' err || [ "$tries" -ge 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	check 'a name that is not there yet is told' err_has 'not watching plug_me: not found'
	check 'a library that is loaded later is watched' err_has 'watching plug_me (libplug.so) at '
	sleep 2.5
	touch stop
	wait "$recorder"
	check 'it ends with the program' test $? -eq 0
	check 'its calls are counted from then on' true_in plug.tare \
		"sum(calls + never_timed) > 100 from window w join watched f on f.id = w.watched where f.name = 'plug_me'"
	check 'its row says no more that it was not found' true_in plug.tare \
		"count(*) = 1 and max(why_not) = '' from watched where name = 'plug_me'"
	check 'those of the other all the time' true_in plug.tare \
		"max(n) - min(n) >= 900 from (select sum(calls + never_timed) n from window group by watched)"
fi

colony=${COLONY-}
if [ -z "$colony" ] || [ -n "$no_probes" ]; then
	skip 'a program that executes another goes on' "${no_probes:-the example is not built here}"
else
	run "$tare" watch --window 1s -o exec.tare malloc weather -- sh -c "exec '$colony' 12000 3000"
	check 'a shell that executes a program with libtare: status 0' status_is 0
	check 'its scope is watched' true_in exec.tare \
		"sum(calls + never_timed) between 3000 and 12000 from window w join watched f on f.id = w.watched where f.name = 'weather' and kind = 1"
	run "$tare" watch --window 1s -o again.tare -- "$colony" 10 0
	check 'one that ends at once' status_is 0
fi
end
