# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2016,SC2154 # variables that bench/run sets
#
# The workloads of bench/run: those of bench/workload.c, and programs of the distribution with input
# that this file generates. bench/run sources this file.

PYTHONMALLOC=malloc PYTHONHASHSEED=0
export PYTHONMALLOC PYTHONHASHSEED

# the path of the program itself: `python3` may be a script that starts it
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null)
cc1plus=$(${CXX:-c++} -print-prog-name=cc1plus 2>/dev/null)

make_json()
{
	awk 'BEGIN {
		srand(1)
		print "["
		for (i = 0; i < 6000; i++)
			printf "%s{\"id\":%d,\"name\":\"n%d\",\"tags\":[\"t%d\",\"t%d\",\"t%d\",\"t%d\"]," \
				"\"v\":{\"x\":%.15f,\"y\":[%d,%d,%d]}}\n", i ? "," : "", i, rand() * 1e6, \
				rand() * 99, rand() * 99, rand() * 99, rand() * 99, rand(), \
				rand() * 9, rand() * 9, rand() * 9
		print "]"
	}'
}

make_sql()
{
	cat <<-'END'
		create table t(a integer primary key, b text, c real);
		create index i on t(b);
		with recursive r(n) as (select 1 union all select n + 1 from r where n < 40000)
			insert into t select n, 'k' || (n * 7919 % 10007), n * 0.5 from r;
		select count(distinct b), sum(c) from t where b like 'k1%';
		select b, count(*), group_concat(a) from t group by b order by 2 desc limit 3;
	END
	awk 'BEGIN { for (i = 0; i < 6000; i++) printf "select a, b from t where b = \"k%d\";\n", i }' |
		tr '"' "'"
}

make_python()
{
	cat <<-'END'
		import json, sys
		d = {str(i): [i, {'a': str(i) * 3, 'b': (i, i + 1)}] for i in range(20000)}
		for _ in range(int(sys.argv[1])):
		    e = json.loads(json.dumps(d))
		print(len(e))
	END
}

make_perl()
{
	cat <<-'END'
		my %h;
		for my $i (1 .. 60000 * $ARGV[0]) {
			$h{"k" . ($i % 7000)} .= "v$i,";
			push @{$l{$i % 500}}, { n => $i, s => "x$i" };
		}
		my $n = 0;
		for (values %h) { $n += scalar split /,/ }
		print "$n\n";
	END
}

make_cxx()
{
	cat <<-'END'
		#include <algorithm>
		#include <map>
		#include <string>
		#include <vector>
		template <int N> struct S {
			std::map<std::string, std::vector<int>> m;
			int f(int x)
			{
				m[std::to_string(x)].push_back(N);
				auto &v = m.begin()->second;
				std::sort(v.begin(), v.end());
				return v.size() + S<N - 1>().f(x);
			}
		};
		template <> struct S<0> { int f(int x) { return x; } };
		int main(int c, char **) { return S<40>().f(c); }
	END
}

make_lua()
{
	cat <<-'END'
		local t = {}
		for i = 1, 200000 do
			t[i % 5000] = { name = "n" .. i, list = { i, i + 1 } }
		end
		local s = 0
		for _, v in pairs(t) do s = s + #v.name end
		print(s)
	END
}

make_ruby()
{
	cat <<-'END'
		h = Hash.new { |hash, key| hash[key] = [] }
		60000.times { |i| h["k#{i % 3000}"] << { n: i, s: "x#{i}" } }
		puts h.values.map { |v| v.map { |e| e[:s] }.join(",").size }.sum
	END
}

make_php()
{
	cat <<-'END'
		<?php
		$h = [];
		for ($i = 0; $i < 100000; $i++) {
			$h["k" . $i % 7000][] = ["n" => $i, "s" => "x$i"];
		}
		$n = 0;
		foreach ($h as $v) { $n += strlen(json_encode($v)); }
		echo "$n\n";
	END
}

make_xml()
{
	awk 'BEGIN {
		print "<list>"
		for (i = 0; i < 30000; i++)
			printf "<item id=\"%d\"><name>n%d</name><tag>t%d</tag><tag>t%d</tag></item>\n", i, i, i % 99, i % 7
		print "</list>"
	}'
}

make_node()
{
	cat <<-'END'
		const m = new Map();
		for (let i = 0; i < 200000; i++) m.set('k' + i % 7000, { n: i, s: Buffer.alloc(100 + i % 50) });
		let n = 0;
		for (const v of m.values()) n += v.s.length;
		console.log(n);
	END
}

# Four threads, each with its own database; they take turns with the interpreter's lock.
make_sqlite_threads()
{
	cat <<-'END'
		import sqlite3, threading
		def work(k):
		    c = sqlite3.connect(':memory:')
		    c.execute('create table t(a integer primary key, b text)')
		    for i in range(4000):
		        c.execute('insert into t(b) values (?)', ('x%d' % (i * k),))
		    print(c.execute('select count(distinct b) from t').fetchone()[0])
		threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
		for t in threads: t.start()
		for t in threads: t.join()
	END
}

make_inputs()
{
	make_lua >"$tmp/input.lua"
	make_ruby >"$tmp/input.rb"
	make_php >"$tmp/input.php"
	make_xml >"$tmp/input.xml"
	make_node >"$tmp/input.js"
	make_sqlite_threads >"$tmp/threads.py"
	${CXX:-c++} -std=gnu++17 -O2 -pthread -o "$tmp/churn" "$src/bench/churn.cc" 2>/dev/null
	make_json >"$tmp/input.json"
	make_sql >"$tmp/input.sql"
	make_python >"$tmp/input.py"
	make_perl >"$tmp/input.pl"
	make_cxx >"$tmp/input.cc"
	[ ! -x "$cc1plus" ] || ${CXX:-c++} -E -o "$tmp/input.ii" "$tmp/input.cc" || cc1plus=
}

# misses WORKLOAD: prints which program is missing; prints nothing if the workload can run
misses()
{
	case $1 in
	lua) command -v lua5.4 >/dev/null || echo 'no lua5.4' ;;
	git) git -C "$src" rev-parse HEAD >/dev/null 2>&1 || echo 'no repository of git' ;;
	sqlite-threads) "$python" -c 'import sqlite3' 2>/dev/null || echo 'no sqlite3 in python3' ;;
	churn-*) [ -x "$tmp/churn" ] || echo 'no C++ compiler' ;;
	jq | sqlite3 | perl | ruby | php | xmllint | clang | node) command -v "$1" >/dev/null || echo "no $1" ;;
	python3) [ -n "$python" ] || echo 'no python3' ;;
	cc1plus) [ -x "$cc1plus" ] || echo 'no g++' ;;
	exceptions) [ -x "$tmp/exceptions" ] || echo 'no C++ compiler' ;;
	esac
}

is_program()
{
	case $1 in
	jq | sqlite3 | perl | python3 | cc1plus | exceptions) ;;
	lua | ruby | php | xmllint | clang | node | git | sqlite-threads | churn-*) ;;
	*) false ;;
	esac
}

# on WORKLOAD COMMAND...: runs the command with the workload's command line as its last arguments
on()
{
	workload=$1
	shift
	case $workload in
	jq) "$@" jq '[.[] | {n: .name, s: (.v.y | add), t: (.tags | join("-"))}] |
		group_by(.s) | map(length)' "$tmp/input.json" ;;
	sqlite3) "$@" sqlite3 -init "$tmp/input.sql" :memory: 'select 1;' ;;
	python3) "$@" "$python" -S "$tmp/input.py" "$passes" ;;
	perl) "$@" perl "$tmp/input.pl" "$passes" ;;
	cc1plus) "$@" "$cc1plus" -quiet -O1 -fpreprocessed "$tmp/input.ii" -o /dev/null ;;
	exceptions) "$@" "$tmp/exceptions" ;;
	lua) "$@" lua5.4 "$tmp/input.lua" ;;
	ruby) "$@" ruby "$tmp/input.rb" ;;
	php) "$@" php "$tmp/input.php" ;;
	xmllint) "$@" xmllint --noout --xpath 'count(//tag)' "$tmp/input.xml" ;;
	clang) "$@" clang -O1 -c -o /dev/null "$src/bench/workload.c" ;;
	node) "$@" node "$tmp/input.js" ;;
	git) "$@" git -C "$src" log --stat --oneline -n 200 ;;
	sqlite-threads) "$@" "$python" "$tmp/threads.py" ;;
	churn-*) "$@" "$tmp/churn" "${workload#churn-}" 8000 ;;
	# microseconds: small enough for awk to print them as integers
	shell-*) "$@" sh -c 'begun=$(date +%s%N) left=$1
		while [ "$left" -gt 0 ]; do
			/bin/true
			left=$((left - 1))
		done
		echo "$1 $((($(date +%s%N) - begun) / 1000))"' sh "${workload#shell-}" ;;
	files) "$@" "$tmp/workload" files "$tmp/input.json" "$times" ;;
	*-*) "$@" "$tmp/workload" "${workload%-*}" "${workload#*-}" "$times" ;;
	*) "$@" "$tmp/workload" "$workload" 1 "$times" ;;
	esac
}

# calls_of PROGRAM: prints its allocator calls, counted by count-calls.so, as lines FUNCTION COUNT
calls_of()
{
	rm -rf "$tmp/counts"
	mkdir "$tmp/counts"
	on "$1" env COUNT_CALLS="$tmp/counts" LD_PRELOAD="$tmp/count-calls.so" >/dev/null 2>&1 </dev/null
	counted_calls
}

counted_calls()
{
	cat "$tmp/counts"/* 2>/dev/null |
		awk '{ n[$1] += $2 } END { for (f in n) if (n[f]) print f, n[f] }' | LC_ALL=C sort
}
