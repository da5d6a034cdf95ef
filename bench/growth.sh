# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2016,SC2034,SC2154 # backquotes for Markdown; variables that bench/run sets
#
# The row growth of bench/run: whether the time and memory of an event stay constant while a run grows
# along one axis at a time. GROWTH=SMALL omits the last step of each axis. bench/run sources this file.

# number_of FIELD FILE [most]: prints the median of the column over all rounds; most: the maximum
number_of()
{
	cut -d ' ' -f "$1" "$2" | sort -n | awk -v most="${3:-}" '
		{ v[NR] = $1 }
		END { print most ? v[NR] : NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# one_run TOOL FILE COMMAND...: appends a line of bench/measure.c for each round, and sets $events
one_run()
{
	traced=$1 into=$2
	shift 2
	for round in $(seq "$rounds"); do
		show_progress "growth: $axis $size, round $round, $traced"
		begin_tool "$traced"
		rm -f "$tmp/measured"
		trace "$traced" "$@" >"$tmp/said" 2>"$tmp/errors" </dev/null
		cat "$tmp/measured" >>"$into"
		events=$(awk 'NF == 2 { n = $1 } END { print n + 0 }' "$tmp/said")
	done
}

# report_growth REPORT: prints the cost of the report as a line of bench/measure.c
report_growth()
{
	rm -f "$tmp/measured"
	measure ./holdtrace report "$1" "$tmp/out/trace.htr" >/dev/null 2>"$tmp/errors"
	cat "$tmp/measured"
}

# grow AXIS SIZE REPORT WORKLOAD...: measures one row of the table
grow()
{
	axis=$1 size=$2 report=$3
	shift 3
	rm -f "$tmp/plain" "$tmp/traced"
	one_run untraced "$tmp/plain" "$tmp/workload" "$@"
	one_run holdtrace-bare "$tmp/traced" "$tmp/workload" "$@"
	stored=$(cat "$tmp"/out/trace.htr* | wc -c)
	report_growth "$report" >"$tmp/reported"
	if [ "$events" = 0 ] || ! awk '$4 != 0 { exit 1 }' "$tmp/traced"; then
		echo "bench/run: growth of $axis, $size: $(tail -n 1 "$tmp/errors")" >&2
		status=1
		return
	fi
	echo "$axis $size $events $stored" \
		"$(number_of 5 "$tmp/plain") $(number_of 5 "$tmp/traced")" \
		"$(number_of 2 "$tmp/traced") $(number_of 6 "$tmp/plain" most) $(number_of 6 "$tmp/traced" most)" \
		"$(number_of 3 "$tmp/traced" most) $(cut -d ' ' -f 2,3 "$tmp/reported")" >>"$tmp/grown"
	end_tool holdtrace-bare
}

# Prints ns and bytes of an event; memory in MiB. step: ns of an event divided by those of the row above.
show_growth()
{
	awk '
	BEGIN {
		print "| axis | size | events | host | collector | report | step | stored | host MiB | collector MiB | report MiB |"
		print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
	}
	{
		host = ($6 - $5) / $3; collector = ($7 - $6) / $3; report = $11 / $3
		all = host + collector + report
		step = $1 == before ? sprintf("%.2f", all / last) : ""
		if (step > worst)
			worst = step
		before = $1; last = all
		printf "| %s | %d | %d | %.0f | %.0f | %.0f | %s | %.2f | %.1f | %.1f | %.1f |\n", $1, $2, $3, host,
			collector, report, step, $4 / $3, ($9 - $8) / 1024, $10 / 1024, $12 / 1024
	}
	END { printf "\nThe largest step: %s.\n", worst }' "$tmp/grown"
}

row_growth()
{
	title 'Growth: what an event costs as a run grows' \
		'Processor nanoseconds of an event beyond the untraced run: in the host, in the collector, and in' \
		'`holdtrace report` (leaks for stacks, else hot). step: their sum, of that in the row above; what a' \
		'process costs counts as its events. MiB: largest process of each, the host beyond untraced.' \
		'stacks: as many places, each of which has blocks that are kept.'
	classes=memory
	: >"$tmp/grown"
	grow events 1000000 hot loop 10 500000
	grow events 10000000 hot loop 10 5000000
	[ -n "$GROWTH" ] || grow events 100000000 hot loop 10 50000000
	for count in 1 4 16 64 ${GROWTH:-256}; do
		[ "$count" = SMALL ] || grow threads "$count" hot threads "$count" 1000000
	done
	for count in 1 10 100 1000 ${GROWTH:-10000}; do
		[ "$count" = SMALL ] || grow processes "$count" hot processes "$count" $((count * 100))
	done
	for count in 1000 10000 100000 ${GROWTH:-1000000}; do
		[ "$count" = SMALL ] || grow stacks "$count" leaks stacks "$count" 1000000
	done
	show_progress ''
	show_growth
}
