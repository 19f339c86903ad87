#!/bin/sh
# record_debuginfod.sh - names from a symbol server: only on request; they come beside the run, also to frames recorded before; a server
# that never answers costs names, and nothing else.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v debuginfod >/dev/null || skip_all 'no debuginfod'
command -v objcopy >/dev/null || skip_all 'no objcopy'
trap 'kill $server $hole 2>/dev/null; cd / && rm -rf "$place"' EXIT
server= hole=

cat >secret.c <<'C'
#include <stdint.h>
#include <stdlib.h>
volatile uint64_t sink;
__attribute__((noinline)) static void secret_work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++)
		secret_work(5000000);
	return 0;
}
C
${CC:-cc} -g -O1 -Wl,--build-id -o secret secret.c || skip_all 'no compiler'
mkdir debug
objcopy --only-keep-debug secret debug/secret.debug
objcopy --strip-all secret
unset DEBUGINFOD_VERBOSE DEBUGINFOD_PROGRESS

run env -u DEBUGINFOD_URLS "$tare" record -q --debuginfod -o none.tare -- ./secret 1
check 'without a server named it is refused' status_is 125
check 'and it is said what to set' err_has 'DEBUGINFOD_URLS'

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
env -u DEBUGINFOD_URLS debuginfod -d :memory: -p "$port" -t 1 -F debug >server.log 2>&1 &
server=$!
DEBUGINFOD_URLS=http://127.0.0.1:$port
export DEBUGINFOD_URLS
id=$(python3 - secret <<'P'
import sys
b = open(sys.argv[1], "rb").read()
at = b.index(b"GNU\0", b.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0"))
print(b[at + 4:at + 24].hex())
P
)
has_it() {
	python3 -c '
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=2).read(1)' "$DEBUGINFOD_URLS/buildid/$id/debuginfo" 2>/dev/null
}
tries=0
until has_it || [ "$tries" -ge 60 ]; do
	sleep 0.2
	tries=$((tries + 1))
done
has_it || skip_all 'the server does not serve'

# names RECORDING: what the functions of the program are called
names() {
	"$tare" report --json "$1" | python3 -c '
import json, sys
for f in json.load(sys.stdin)["functions"]:
    if f["module"] == "secret":
        print(f["name"], f["file"].rpartition("/")[2], f["line"])'
}
names_have() {
	names "$1" | grep -q -e "$2"
}
names_lack() {
	! names_have "$1" "$2"
}

DEBUGINFOD_CACHE_PATH=$place/cache1
export DEBUGINFOD_CACHE_PATH
run "$tare" record -q --every 1ms --price 100% -o off.tare -- ./secret 40
check 'its functions have samples' names_have off.tare '^\[secret+0x'
check 'a server is not asked unless that is wanted' names_lack off.tare secret_work
check 'nothing was fetched' test ! -e "$DEBUGINFOD_CACHE_PATH"
run "$tare" record -q --debuginfod --every 1ms --price 100% -o on.tare -- ./secret 100
check 'names of a server are shown' names_have on.tare '^secret_work secret.c [1-9]'
check 'also on frames that were recorded before they came' names_lack on.tare '^\[secret+0x'

# Accepts, and says nothing for ever.
python3 -c '
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(5)
print(s.getsockname()[1], flush=True)
time.sleep(600)' >hole.port &
hole=$!
tries=0
until [ -s hole.port ] || [ "$tries" -ge 50 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
DEBUGINFOD_URLS=http://127.0.0.1:$(cat hole.port)
DEBUGINFOD_CACHE_PATH=$place/cache2
run timeout 60 "$tare" record -q --debuginfod --every 1ms --price 100% -o hole.tare -- ./secret 40
check 'a server that never answers holds nothing up' status_is 0
run "$tare" report --json hole.tare
check 'the recording is whole' out_has '"is_finished": true'
check 'its functions have no names' names_have hole.tare '^\[secret+0x'
end
