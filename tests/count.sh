#!/bin/sh
# Counts test cases in meson's testlog.json files and in TAP files (*.tap), and prints "N passed, N failed, N skipped".
# A cmocka program and a TAP script count by case, any other program as one. In a program that passed, a case that
# began and did not end well was skipped; in one that failed, it failed. A log that is missing is a failure.
# Fails when anything failed or nothing ran.
set -eu

lost=0
for log in "$@"; do
	shift
	if [ -f "$log" ]; then
		set -- "$@" "$log"
	else
		echo "count.sh: there is no '$log'" >&2
		lost=$((lost + 1))
	fi
done
[ $# -gt 0 ] || set -- /dev/null

awk -v lost="$lost" '
function times(text, what) {
	return gsub(what, "", text)
}
function count_tap(text, skips) {
	skips = times(text, "\nok [0-9]+[^\n]*# SKIP")
	skipped += skips
	passed += times(text, "\nok [0-9]+") - skips
	failed += times(text, "\nnot ok [0-9]+")
}
function count_cmocka(text, good, began, ended) {
	began = times(text, "\n[[] RUN      []]")
	ended = times(text, "\n[[]       OK []]")
	passed += ended
	if (good)
		skipped += began - ended
	else
		failed += began > ended ? began - ended : 1
}
# The value of a text member of a flat JSON object on one line, with its line ends, and one before the first.
function member(line, name, at) {
	at = index(line, "\"" name "\": \"")
	if (at == 0)
		return ""
	line = substr(line, at + length(name) + 5)
	gsub(/\\\\/, "", line)
	gsub(/\\"/, "", line)
	line = substr(line, 1, index(line, "\"") - 1)
	gsub(/\\n/, "\n", line)
	return "\n" line
}
function count_program(line, out, good, before) {
	good = line ~ /"result": "(OK|EXPECTEDFAIL)"/
	out = member(line, "stdout")
	before = failed
	if (line ~ /"result": "SKIP"/)
		skipped++
	else if (out ~ /\n[[] RUN      []]/)
		count_cmocka(out, good)
	else if (out ~ /\n(not )?ok [0-9]+/)
		count_tap(out)
	else if (good)
		passed++
	if (!good && line !~ /"result": "SKIP"/ && failed == before)
		failed++
}
FILENAME ~ /[.]tap$/ {
	count_tap("\n" $0)
	next
}
{
	count_program($0)
}
END {
	failed += lost
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0 || passed == 0
}' "$@"
