# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables that bench/run sets
#
# The tools that bench/run compares: which are installed, and how each traces a command. bench/run
# sources this file in the build's top directory.

heaptrack_library=$(find /usr/lib /usr/local/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)
lttng_memory=$(find /usr/lib /usr/local/lib -name 'liblttng-ust-libc-wrapper.so*' 2>/dev/null | head -n 1)
lttng_pthread=$(find /usr/lib /usr/local/lib -name 'liblttng-ust-pthread-wrapper.so*' 2>/dev/null | head -n 1)
lttng_session=holdtrace-bench-$$
lttng_daemon=

# lacks TOOL: prints what the tool needs and is missing; prints nothing if the tool can run
lacks()
{
	case $1 in
	heaptrack-alone) [ -n "$heaptrack_library" ] || echo 'no heaptrack' ;;
	lttng*)
		if ! command -v lttng >/dev/null || ! command -v lttng-sessiond >/dev/null; then
			echo 'no lttng-tools'
		elif [ -z "$lttng_memory" ] || [ -z "$lttng_pthread" ]; then
			echo 'no liblttng-ust-dev'
		fi
		;;
	sp-rtrace) [ -x "${SPRTRACE:-}/bin/sp-rtrace" ] || echo 'SPRTRACE names no installed sp-rtrace' ;;
	before*) [ -x "${BEFORE:-}/holdtrace" ] || echo 'BEFORE names no other build' ;;
	heaptrack | uftrace | strace) command -v "$1" >/dev/null || echo "no $1" ;;
	esac
}

# Starts an LTTng daemon if none runs, and stores its pid in $lttng_daemon.
start_lttng_daemon()
{
	if [ -n "$lttng_daemon" ] || pidof lttng-sessiond >/dev/null; then
		return
	fi
	lttng-sessiond --daemonize --pidfile="$tmp/lttng.pid" >/dev/null 2>&1
	lttng_daemon=$(cat "$tmp/lttng.pid")
}

stop_lttng_daemon()
{
	[ -z "$lttng_daemon" ] || kill "$lttng_daemon" 2>/dev/null
}

# begin_lttng EVENTS: starts a session whose channel blocks the program instead of dropping events
begin_lttng()
{
	start_lttng_daemon
	{
		lttng create "$lttng_session" --output="$tmp/out/lttng" &&
			lttng enable-channel -s "$lttng_session" -u --subbuf-size=4M --num-subbuf=8 \
				--blocking-timeout=inf channel &&
			lttng enable-event -s "$lttng_session" -u -c channel "$1" &&
			lttng add-context -s "$lttng_session" -u -c channel -t vtid -t ip &&
			lttng start "$lttng_session"
	} >"$tmp/lttng.log" 2>&1
}

end_lttng()
{
	lttng destroy "$lttng_session" >>"$tmp/lttng.log" 2>&1
}

# begin_tool TOOL: prepares the tool before the measurement
begin_tool()
{
	rm -rf "$tmp/out"
	mkdir "$tmp/out"
	case $1 in
	lttng) begin_lttng 'lttng_ust_libc:*' ;;
	lttng-pthread) begin_lttng 'lttng_ust_pthread:*' ;;
	esac
}

end_tool()
{
	case $1 in
	lttng*) end_lttng ;;
	esac
	rm -rf "$tmp/out"
}

# trace TOOL COMMAND...: measures the command under the tool, which writes its traces to $tmp/out
trace()
{
	tool=$1
	shift
	case $tool in
	untraced) measure "$@" ;;
	holdtrace) measure ./holdtrace record -q -f -o "$tmp/out/trace.htr" -e "$classes" "$@" ;;
	before) measure "$BEFORE/holdtrace" record -q -f -o "$tmp/out/trace.htr" -e "$classes" "$@" ;;
	before-bare) measure LD_PRELOAD="$BEFORE/libholdtrace.so" HOLDTRACE_EVENTS="$classes" \
		HOLDTRACE_OUT="$tmp/out/trace.htr" "$@" ;;
	holdtrace-bare) measure LD_PRELOAD="$PWD/libholdtrace.so" HOLDTRACE_EVENTS="$classes" \
		HOLDTRACE_OUT="$tmp/out/trace.htr" "$@" ;;
	holdtrace-every) measure ./holdtrace record -q -f -o "$tmp/out/trace.htr" "$@" ;;
	holdtrace-pipe) measure ./holdtrace record -q -e "$classes" \
		-o "|./holdtrace-postproc -q -l >$tmp/out/leaks" "$@" ;;
	holdtrace-checked) measure JUDGE_RESULT="$tmp/judged-captures" LD_PRELOAD="$tmp/judge.so" "$@" ;;
	holdtrace-counted) measure LD_PRELOAD="$PWD/libholdtrace.so $tmp/count-calls.so" \
		COUNT_CALLS="$tmp/counts" HOLDTRACE_OUT="$tmp/out/trace.htr" "$@" ;;
	heaptrack-alone) measure LD_PRELOAD="$heaptrack_library" \
		DUMP_HEAPTRACK_OUTPUT="$tmp/out/raw" "$@" ;;
	heaptrack) measure heaptrack -o "$tmp/out/heaptrack" "$@" ;;
	lttng) measure LD_PRELOAD="$lttng_memory" LTTNG_UST_ALLOW_BLOCKING=1 "$@" ;;
	lttng-pthread) measure LD_PRELOAD="$lttng_pthread" LTTNG_UST_ALLOW_BLOCKING=1 "$@" ;;
	sp-rtrace) measure LD_LIBRARY_PATH="$SPRTRACE/lib" "$SPRTRACE/bin/sp-rtrace" -q -s \
		-e memory -o "$tmp/out" -b 64 -A -u -x "$@" ;;
	uftrace) measure uftrace record --no-pager --force -d "$tmp/out/uftrace" "$@" ;;
	strace) measure strace -f -ttt -o "$tmp/out/strace" -e trace=open,openat,read,close "$@" ;;
	esac
}

measure()
{
	"$tmp/measure" "$tmp/measured" "$@"
}
