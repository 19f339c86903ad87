# table.awk - from the rows of run.sh to the tables. A row: MODE ROUND NOP5 PUSH OTHER SCOPE (ps a call) BYTES and what each
# function was said to take (ns). What a mode adds is its own less that of the plain run of its round.
function median(list, n, i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]
			list[j] = list[j - 1]
			list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
# Ends of a range stand in list[1] and list[n] after median().
function spread(list, n, format, middle) {
	middle = median(list, n)
	return sprintf(format " (" format " to " format ")", middle, list[1], list[n])
}
# What is said to be below the floor most often is below the floor.
function cell(mode, what, format, n, i, list, below) {
	n = below = 0
	for (i = 1; i <= rounds[mode]; i++)
		if (value[mode, i, what] == "below-floor")
			below++
		else if (value[mode, i, what] != "-")
			list[++n] = value[mode, i, what] + 0
	if (below > n)
		return "below floor"
	return n > 0 ? spread(list, n, format) : "-"
}
# Of the same round, then the median of the rounds.
function ratio(mode, other, what, wanted, n, i, list) {
	n = 0
	for (i = 1; i <= rounds[mode]; i++)
		if (rounds[other] >= i && value[other, i, what] > 0)
			list[++n] = value[mode, i, what] / value[other, i, what]
	if (n == 0)
		return
	printf "| %s ÷ %s, %s | %s | %s |\n", names[mode], names[other], what, spread(list, n, "%.3f"), wanted
}
function line(mode, n, i, list) {
	if (rounds[mode] == 0)
		return
	printf "| %s | %s | %s | %s | %s | %s |\n", names[mode], shown(mode, "nop5"), shown(mode, "push"), shown(mode, "other"),
		shown(mode, "scope"), cell(mode, "bytes", "%.0f")
}
function shown(mode, what) {
	return has[mode, what] ? cell(mode, what, "%.1f") : "-"
}
{
	at = ++rounds[$1]
	split("nop5 push other scope", whats, " ")
	for (i = 1; i <= 4; i++) {
		value[$1, at, whats[i]] = $(2 + i) / 1000
		value[$1, at, "said " whats[i]] = $(7 + i)
	}
	value[$1, at, "bytes"] = $7 / 1024
}
END {
	order_count = split("plain uftrace-pg uftrace-P bpftrace-count bpftrace-both perf tare-count tare-timed tare inside-off inside",
		order, " ")
	split("plain|uftrace -pg|uftrace -P|bpftrace count|bpftrace entry + return|perf uprobe|tare, counting (1 in 4,096)|" \
		"tare, every call timed|tare, 1 in 8 timed|in process, nothing attached|in process, 1 in 8 timed", titles, "|")
	probed = " uftrace-P bpftrace-count bpftrace-both perf tare-count tare-timed tare "
	for (i = 1; i <= order_count; i++) {
		names[order[i]] = titles[i]
		is_probed = index(probed, " " order[i] " ") > 0
		has[order[i], "nop5"] = has[order[i], "push"] = has[order[i], "other"] = is_probed || i == 1
		has[order[i], "scope"] = !is_probed
	}
	has["uftrace-P", "push"] = has["uftrace-P", "other"] = 0
	# What is added: less the plain run of the round.
	for (i = 2; i <= order_count; i++)
		for (at = 1; at <= rounds[order[i]]; at++)
			for (k = 1; k <= 4; k++)
				value[order[i], at, whats[k]] -= value["plain", at, whats[k]]
	print "What a call takes more, in ns (plain: what it takes), and KB left behind:"
	print ""
	print "| | nop5 | push | other (int3) | in process or -pg | KB |"
	print "| --- | ---: | ---: | ---: | ---: | ---: |"
	for (i = 1; i <= order_count; i++)
		line(order[i])
	print ""
	print "What is said of functions of about 2 ns, in ns:"
	print ""
	print "| | nop5 | push | other (int3) | in process or -pg |"
	print "| --- | ---: | ---: | ---: | ---: |"
	for (i = 1; i <= order_count; i++) {
		said = 0
		for (k = 1; k <= 4; k++)
			said += cell(order[i], "said " whats[k], "%s") != "-"
		if (said > 0)
			printf "| %s | %s | %s | %s | %s |\n", names[order[i]], cell(order[i], "said nop5", "%.0f"),
				cell(order[i], "said push", "%.0f"), cell(order[i], "said other", "%.0f"),
				cell(order[i], "said scope", "%.0f")
	}
	print ""
	print "| ratio | measured | wanted |"
	print "| --- | ---: | ---: |"
	for (k = 1; k <= 3; k++)
		ratio("tare-count", "bpftrace-count", whats[k], "≤ 1.1")
	for (k = 1; k <= 3; k++)
		ratio("tare-timed", "bpftrace-both", whats[k], k < 3 ? "≤ 0.6" : "≤ 0.75")
	for (k = 1; k <= 3; k++)
		ratio("tare", "bpftrace-both", whats[k], "-")
	ratio("inside", "uftrace-pg", "scope", "≤ 0.02")
}
