# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2016,SC2034,SC2154 # backquotes for Markdown; variables that bench/run sets
#
# The rows of bench/run, one function each: chooses workloads, tools and the measured values, and
# prints the table. bench/run sources this file.

programs='jq python3 sqlite3 perl cc1plus'
other_programs='lua ruby php xmllint clang node git sqlite-threads churn-1 churn-4 churn-8'
memory_workloads="loop-10 loop-30 tree-10 tree-30 threads-1 threads-4 threads-8 grow $programs"

row_memory()
{
	title 'Memory: nanoseconds for each call of the allocator' \
		'holdtrace records a backtrace of every call, free too; heaptrack of allocations alone,' \
		'lttng none. heaptrack-alone is its traced process without the interpreter beside it;' \
		'holdtrace-every records files, locks and threads as well. Programs: the whole process.'
	classes=memory times=300000
	gather 'untraced holdtrace before holdtrace-every heaptrack-alone heaptrack lttng sp-rtrace' \
		"$memory_workloads"
	show_table holdtrace
}

# show_kinds OURS: prints a table for each kind of value in $take
show_kinds()
{
	for kind in $take; do
		case $kind in
		host) printf 'Processor time in the traced process alone:\n\n' ;;
		wall) printf '\nWall:\n\n' ;;
		processor) printf '\nProcessor time of all processes:\n\n' ;;
		esac
		cp "$tmp/results.$kind" "$tmp/results"
		row=$name-$kind
		show_table "$1"
	done
	row=$name
}

row_cost()
{
	title 'Cost: nanoseconds for each call of the allocator, where they are spent' \
		'The library alone (LD_PRELOAD), memory only. heaptrack-alone writes a file that its interpreter' \
		'has still to read; heaptrack has it beside it.'
	classes=memory times=300000 take='host wall processor' name=cost
	gather 'untraced holdtrace-bare before-bare heaptrack-alone heaptrack' "$memory_workloads"
	show_kinds holdtrace-bare
}

row_programs()
{
	title 'Programs that nobody tuned for: nanoseconds for each call of the allocator' \
		'All classes on our side, memory alone on that of heaptrack.'
	classes=all take='host wall processor' name=programs
	gather 'untraced holdtrace-bare before-bare heaptrack-alone heaptrack' "$other_programs"
	show_kinds holdtrace-bare
}

row_pipe()
{
	title 'Pipe: nanoseconds for each call of the allocator' \
		'The packets go through a pipe to `holdtrace-postproc -l`, which keeps what was never freed.'
	classes=memory times=300000
	gather 'untraced holdtrace-pipe heaptrack sp-rtrace' "$memory_workloads"
	show_table holdtrace-pipe
}

row_sync()
{
	title 'Locks and semaphores: nanoseconds for each call' \
		'holdtrace records every class, with backtraces; lttng (its pthread wrapper knows mutexes alone)' \
		'and uftrace record none. condition: two threads on one processor.'
	classes=all times=300000
	gather 'untraced holdtrace before lttng-pthread uftrace' 'mutex contended-4'
	all=$tools tools=$(present untraced holdtrace before uftrace)
	gather_more semaphore
	tools=$all times=30000
	gather_more condition
	show_table holdtrace
}

row_files()
{
	title 'Files: nanoseconds for each call of a storm of open, read, close' \
		'holdtrace records every class, with backtraces, but no read; the others have reads, too, and no' \
		'backtraces.'
	classes=all times=100000
	gather 'untraced holdtrace uftrace strace' files
	show_table holdtrace
}

row_threads()
{
	title 'Threads: processor nanoseconds for each call of the allocator' \
		'Of the host and of the collector or interpreter together.'
	classes=memory times=1000000 take=processor
	gather 'untraced holdtrace before heaptrack-alone' 'threads-1 threads-4 threads-8'
	show_table holdtrace
}

row_places()
{
	title 'Places: processor nanoseconds for each call of the allocator' \
		'A block for each of 250,000 stacks in turn; in the traced process alone, memory only.'
	classes=memory times=1000000 take=host
	gather 'untraced holdtrace-bare before-bare heaptrack-alone' stacks-250000
	show_table holdtrace-bare
}

row_children()
{
	title 'Children: microseconds for each process' \
		'A shell that starts /bin/true so many times, one after the other, into one file.'
	classes=all
	gather 'untraced holdtrace before' 'shell-1000 shell-10000'
	show_table holdtrace
}

row_rss()
{
	title 'Memory in the host: MiB resident' \
		'VmRSS of the traced process while its threads live. Pages of a ring count in the host and in' \
		'the collector, which share them; holdtrace-shared is that part (RssShmem).'
	classes=memory times=400000 take=resident
	: >"$tmp/shared"
	gather 'untraced holdtrace before heaptrack-alone lttng' \
		'resident-1 resident-4 resident-8 resident-16 resident-64'
	show_table holdtrace
	echo
	cp "$tmp/shared" "$tmp/results"
	base='' tools=holdtrace-shared row=none
	show_table ''
}

# begin_values TOOLS: begins a table of values that are not compared with an untraced run
begin_values()
{
	base='' tools=$1
	: >"$tmp/results"
}

row_capture()
{
	title 'One backtrace: nanoseconds' \
		'capture_again takes over what is as before; unw_backtrace is libunwind'\''s, with its cache. same:' \
		'one stack; changing: its upper frames are always others; handler: in a signal handler.'
	# shellcheck disable=SC2086 # $compile has options, which are split
	if ! $compile -I"$src" -I"$src/include" -Iinclude -o "$tmp/capture" "$src/bench/capture.c" \
		libshim.a -pthread -ldl 2>"$tmp/errors"; then
		leave_out capture 'bench/capture.c does not compile here'
		return
	fi
	begin_values 'capture_again unw_backtrace'
	for round in $(seq "$rounds"); do
		"$tmp/capture" | awk '$4 ~ /^(capture_again|unw_backtrace)$/ { print $1 "-" $2, $4, $5 }' >>"$tmp/results"
	done
	grep -q unw_backtrace "$tmp/results" || leave_out unw_backtrace 'no libunwind.so.8'
	show_table capture_again
}

# Prints the numbers of backtraces, and of those that tests/tools/unwind-checker.c found different.
checked()
{
	awk '/^captures / {
		captures += $2
		for (i = 5; i < NF; i += 2)
			if ($i !~ /^(complete|depth|modules|walked)$/)
				different += $(i + 1)
	}
	END { print captures + 0, different + 0 }' "$tmp/judged-captures"
}

# Compares a million backtraces; runs a short program several times.
check_unwinding()
{
	captures=0 different=0 turn=0
	while [ "$captures" -lt 1000000 ] && [ $turn -lt 200 ]; do
		: >"$tmp/judged-captures"
		begin_tool holdtrace-checked
		on "$1" trace holdtrace-checked >/dev/null 2>&1 </dev/null
		# shellcheck disable=SC2046 # the output is split into two words
		set -- "$1" $(checked)
		end_tool holdtrace-checked
		[ "$2" -gt 0 ] || break
		captures=$((captures + $2)) different=$((different + $3)) turn=$((turn + 1))
	done
	if [ $captures = 0 ]; then
		leave_out "$1" 'nothing was compared, is libunwind.so.8 here?'
	else
		printf '%s captures %d\n%s different %d\n' "$1" $captures "$1" $different >>"$tmp/results"
	fi
}

row_unwind()
{
	title 'Backtraces that are not as libunwind'\''s' \
		'Every call of malloc, calloc, realloc and free is compared (tests/tools/unwind-checker.c).' \
		'Short programs run until there were a million.'
	begin_values 'captures different'
	passes=1 times=100000
	for workload in python3 sqlite3 perl cc1plus exceptions coroutines; do
		is_missing "$workload" || check_unwinding "$workload"
	done
	show_table ''
}

row_bytes()
{
	title 'Bytes an event in .htr' \
		'All classes. raw: definitions, events and headers of the blocks before zstd; stored: the file.'
	begin_values 'raw stored'
	for workload in $programs; do
		is_missing "$workload" && continue
		begin_tool holdtrace-every
		on "$workload" trace holdtrace-every >/dev/null 2>&1 </dev/null
		"$tmp/htr-size" "$tmp/out/trace.htr" | awk -v name="$workload" '$1 > 0 {
			printf "%s raw %.3f\n%s stored %.3f\n", name, $2 / $1, name, $3 / $1 }' >>"$tmp/results"
		end_tool holdtrace-every
	done
	show_table ''
}

# Prints the allocator calls in the trace, FUNCTION COUNT. Does not count the free event of a realloc.
recorded_calls()
{
	./holdtrace-postproc -q -b 0 "$tmp/out/trace.htr" | awk '
		match($0, /[a-z_]+</) && /^[0-9]+\. / {
			name = substr($0, RSTART, RLENGTH - 1)
			if (name == "free" || / = 0x/ || /<event>/)
				n[name]++
		}
		END { for (name in n) print name, n[name] }' |
		grep -E '^(malloc|calloc|realloc|free|posix_memalign|aligned_alloc|memalign) ' | LC_ALL=C sort
}

count_both()
{
	rm -rf "$tmp/counts"
	mkdir "$tmp/counts"
	begin_tool holdtrace-counted
	on "$1" trace holdtrace-counted >/dev/null 2>&1 </dev/null
	recorded_calls >"$tmp/recorded"
	end_tool holdtrace-counted
	counted_calls | awk -v name="$1" '
		FNR == NR { recorded[$1] = $2; sum += $2; next }
		{ made += $2; unlike += $2 > recorded[$1] ? $2 - recorded[$1] : recorded[$1] - $2; delete recorded[$1] }
		END {
			for (f in recorded)
				unlike += recorded[f]
			printf "%s made %d\n%s recorded %d\n%s unlike %d\n", name, made, name, sum, name, unlike
		}' "$tmp/recorded" - >>"$tmp/results"
}

row_lost()
{
	title 'Lost events' \
		'Calls of the allocator: made, as a counter behind the library (tests/tools/count-calls.c) saw them in the' \
		'same run; recorded in the trace; and the sum of the differences, function by function.'
	begin_values 'made recorded unlike'
	classes=all times=300000
	for workload in threads-8 grow $programs; do
		is_missing "$workload" || count_both "$workload"
	done
	show_table ''
}
