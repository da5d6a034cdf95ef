# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the shell tests share: TAP lines, and a run of a program under the tracer. Sourced in the
# build's top directory.

number=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/holdtrace-test.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
library=$PWD/libholdtrace.so

# verdict SENTENCE COMMAND...: ok if the command succeeds
verdict()
{
	sentence=$1
	shift
	number=$((number + 1))
	if "$@" >"$dir/verdict" 2>&1; then
		echo "ok $number - $sentence"
	else
		echo "not ok $number - $sentence"
		sed 's/^/# /' "$dir/verdict" | head -n 40
	fi
}

skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
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
