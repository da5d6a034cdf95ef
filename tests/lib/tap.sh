# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the shell tests share: TAP lines, and a run of a program under the tracer. Sourced in the
# build's top directory.

number=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/holdtrace-test.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
library=$PWD/libholdtrace.so

# result STATUS SENTENCE [FILE...]: ok if STATUS is 0, else followed by what the FILES say, or those of $details
details=
result()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
		return
	fi
	echo "not ok $number - $2"
	shift 2
	# shellcheck disable=SC2086 # words
	[ $# -gt 0 ] || set -- $details
	[ $# -eq 0 ] || cat "$@" 2>/dev/null | sed 's/^/# /' | head -n 40
}

# expect SENTENCE COMMAND...: ok if the command succeeds
expect()
{
	sentence=$1
	shift
	"$@" >"$dir/verdict" 2>&1
	result $? "$sentence" "$dir/verdict"
}

# none FAULTS SENTENCE: ok if FAULTS is an empty text
none()
{
	printf '%s\n' "$1" >"$dir/verdict"
	[ -z "$1" ]
	result $? "$2" "$dir/verdict"
}

# numbered NAME COMMAND...: what the COMMAND says of NAME as TAP without numbers (tap.py), with them
numbered()
{
	name=$1
	shift
	"$@" >"$dir/said" 2>&1 || echo "not ok - $name: the comparison ended early" >>"$dir/said"
	while IFS= read -r line; do
		case $line in
		ok\ * | not\ ok\ *)
			number=$((number + 1))
			echo "${line%% - *} $number - ${line#* - }"
			;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done <"$dir/said"
}

skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# in_long_run: whether the tests may take their time, as in continuous integration (LONG=1 make check)
in_long_run()
{
	[ "${LONG:-0}" != 0 ]
}

plan()
{
	echo "1..$number"
}

# equal WANTED GOT
equal()
{
	[ "$1" = "$2" ] || {
		printf 'wanted: %s\ngot:    %s\n' "$1" "$2"
		return 1
	}
}

# bare OUT COMMAND...: under the library alone, stream to OUT
bare()
{
	out=$1
	shift
	HOLDTRACE_OUT=$out LD_PRELOAD=$library "$@"
}

# text FILE...: the streams as sp-rtrace text, whole: readers wait for the collector
text()
{
	for stream in "$@"; do
		./holdtrace-postproc "$stream" || return
	done
}

# events PATTERN FILE...: how many calls match the extended regular expression
events()
{
	wanted=$1
	shift
	text "$@" | grep -cE "^[0-9]+\. (\[[0-9:.]+\] )?$wanted"
}
