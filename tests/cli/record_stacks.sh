#!/bin/sh
# record_stacks.sh - a binary without frame pointers is walked to its root; without its .eh_frame it is reported as
# broken stacks, never as roots. Engines perf and bpf walk what people run: php, python3, C++, Rust.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v objcopy >/dev/null || skip_all 'no objcopy'

cat >chain.c <<'C'
#include <stdint.h>
volatile uint64_t sink;
__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
	for (unsigned i = 0; i < 2000000; i++)
		x = x * 6364136223846793005u + 7;
	return x;
}
__attribute__((noinline)) static uint64_t middle(uint64_t x)
{
	char room[200];
	room[x % 200] = (char)x;
	return leaf(x) + (uint64_t)room[(x + 1) % 200 == 0 ? 0 : x % 200];
}
__attribute__((noinline)) static uint64_t outer(uint64_t x)
{
	return middle(x) + 1;
}
int main(void)
{
	for (int i = 0; i < 600; i++)
		sink += outer((uint64_t)i);
	return 0;
}
C
${CC:-cc} -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o chain chain.c || skip_all 'no compiler'
objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr chain bare

# number NAME: a field of the label in the JSON of the last run
number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

run "$tare" record -q --every 1ms --price 100% -o chain.tare -- ./chain
run "$tare" report --json chain.tare
kept=$(number kept)
whole=$(number whole_stacks)
check 'there are samples' test "${kept:-0}" -ge 200
check "at least 99 % of samples reach the root ($whole of $kept)" test "$((whole * 100))" -ge "$((kept * 99))"
run "$tare" report --all chain.tare
check 'the root has its name' out_has _start
check 'so has every function' out_has middle

run "$tare" record -q --every 1ms --price 100% -o bare.tare -- ./bare
run "$tare" report --json bare.tare
kept=$(number kept)
broken=$(number broken_stacks)
check "without .eh_frame stacks are broken ($broken of $kept)" test "$((broken * 100))" -ge "$((kept * 95))"
run "$tare" report --all bare.tare
check 'the report shows them as broken' out_has '[broken]'
check 'and makes a finding of it' out_has 'broken'

cat >sorts.cpp <<'C'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main()
{
	std::map<std::string, size_t> seen;
	std::vector<std::string> words;
	for (int round = 0; round < 90; round++) {
		words.clear();
		for (unsigned i = 0; i < 60000; i++)
			words.push_back(std::to_string(i * 2654435761u));
		std::sort(words.begin(), words.end(), [](auto &a, auto &b) { return a > b; });
		for (auto &word : words)
			seen[word.substr(0, 3)] += word.size();
	}
	return seen.empty();
}
C
cat >sorts.rs <<'C'
use std::collections::BTreeMap;
fn main() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..120 {
        let mut words: Vec<String> = (0..60000u32).map(|i| i.wrapping_mul(2654435761).to_string()).collect();
        words.sort_by(|a, b| b.cmp(a));
        for word in &words {
            *seen.entry(word.chars().take(3).collect()).or_default() += word.len();
        }
    }
    assert!(!seen.is_empty());
}
C
c++ -O2 -fomit-frame-pointer -o cpp sorts.cpp 2>/dev/null || rm -f cpp
rustc -O -o rust sorts.rs 2>/dev/null || rm -f rust
php='for ($i = 0; $i < 90; $i++) { $a = []; for ($k = 0; $k < 20000; $k++) $a[] = md5((string)$k); usort($a, "strcmp"); }'
python='
import re
for i in range(20):
    words = [str(k * 2654435761 % 4294967296) for k in range(60000)]
    words.sort(key=lambda word: word[::-1])
    re.sub("[0-4]+", lambda found: found.group()[::-1], " ".join(words))
'

# walks ENGINE COMMAND...: 99.5 % of the samples reach the thread's start; 98 % where stacks are copied, 16 KB of each.
walks() {
	engine=$1
	shift
	run "$tare" record -q --engine "$engine" --every 2ms --price 100% -f -o run.tare -- "$@"
	run "$tare" report --json run.tare
	kept=$(number kept)
	whole=$(number whole_stacks)
	what="$engine walks ${1##*/} to the start ($whole of $kept)"
	least=995
	[ "$engine" = bpf ] || least=980
	[ "${kept:-0}" -ge 300 ] && [ "$((whole * 1000))" -ge "$((kept * least))" ]
}

for engine in perf bpf; do
	if ! "$tare" record -q --engine "$engine" -f -o run.tare -- true 2>err; then
		if [ "$engine" = bpf ] && grep -qE 'no BPF programs|built without BPF' err; then
			skip "engine $engine walks what people run" "$(head -n 1 err)"
		else
			fail "engine $engine walks what people run" "$(cat err)"
		fi
		continue
	fi
	for job in php python3 ./cpp ./rust; do
		if ! command -v "$job" >/dev/null; then
			skip "$engine walks $job to the start" 'there is none'
			continue
		fi
		case $job in
		php) set -- php -r "$php" ;;
		python3) set -- "$(python3 -c 'import sys; print(sys.executable)')" -c "$python" ;;
		*) set -- "$job" ;;
		esac
		if walks "$engine" "$@"; then ok "$what"; else fail "$what"; fi
	done
done
end
