# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC1091,SC2154,SC2034,SC3045
#
# What tests/hazards-* share, beside tap.sh. Each hazard is a program that does what breaks
# tracers and counts what it does ("made 100 of 1237": so many blocks of that size). It runs
# untraced and traced and must not notice a difference; whatever it made is in the streams, or
# counted there as lost. Sourced in the build's top directory.

. "${srcdir:-.}/tests/lib/tap.sh"

hosts=./tests/hosts
limit=20 # seconds for one run
ulimit -Sc 0

# same A B: the two runs printed the same, but for what they counted
same()
{
	sed '/^made /d' "$1" >"$1.plain"
	sed '/^made /d' "$2" >"$2.plain"
	diff "$1.plain" "$2.plain"
}

# compare UNTRACED-STATUS TRACED-STATUS: and what both printed
compare()
{
	equal "$1" "$2" && same "$dir/untraced" "$dir/traced"
}

# recorded MOST SAID STREAM...: all that SAID says was made is in the streams; MOST may be missing, if counted as lost
recorded()
{
	most=$1
	said=$2
	shift 2
	for stream in "$@"; do
		timeout 30 ./holdtrace-postproc -b 0 "$stream" || echo "? $stream: $?"
	done | awk -v most="$most" '
		FILENAME != "-" { if ($1 == "made") { wanted[$4] += $2; all += $2 } next }
		/^\?/ { print; bad = 1 }
		match($0, /^[0-9]+\. (@[0-9a-f]+ )?(\[[0-9:.]+\] )?malloc<memory>\([0-9]+\)/) {
			size = substr($0, RSTART, RLENGTH)
			sub(/.*\(/, "", size)
			got[size + 0]++
		}
		/^\t\$dropped = / { lost += $3 }
		END {
			if (!all) {
				print "the host counted nothing"
				bad = 1
			}
			for (size in wanted) {
				printf "%d of %d blocks of %d\n", got[size], wanted[size], size
				missing += wanted[size] - got[size]
				if (got[size] > wanted[size])
					bad = 1
			}
			printf "%d missing, %d counted as lost, of %d\n", missing, lost, all
			exit bad || missing > lost || lost > most
		}' "$said" -
}

# under OUT COMMAND...: as bare, with a time limit that is not traced itself
under()
{
	out=$1
	shift
	timeout -k 1 $limit env HOLDTRACE_OUT="$out" LD_PRELOAD="$library" "$@"
}

# try SENTENCE COMMAND...: untraced and under the library; tells it all in two verdicts
lossy=0
try()
{
	sentence=$1
	shift
	rm -f "$dir"/try.rtrace*
	timeout -k 1 $limit "$@" >"$dir/untraced" 2>"$dir/errors" </dev/null
	untraced=$?
	under "$dir/try.rtrace" "$@" >"$dir/traced" 2>"$dir/errors" </dev/null
	traced=$?
	expect "$sentence: as untraced" compare $untraced $traced
	# Once the first stream is complete those of its children have begun.
	[ ! -f "$dir/try.rtrace" ] || text "$dir/try.rtrace" >/dev/null 2>&1
	expect "$sentence: all is recorded" recorded "$lossy" "$dir/traced" "$dir"/try.rtrace*
}
