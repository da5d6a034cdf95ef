# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables that bench/run sets
#
# The row production of bench/run: servers under load, each run alternately untraced and under
# `holdtrace record --production`, SERVER_SECONDS (default: 30) each; the order changes each round.
# SERVERS="nginx postgres": runs only these servers. bench/run sources this file.

server_seconds=${SERVER_SECONDS:-30}
server_rounds=${SERVER_ROUNDS:-5}
server_port=7398

# await COMMAND...: repeats the command until it succeeds, for at most ten seconds
await()
{
	for _ in $(seq 100); do
		"$@" >"$tmp/await" 2>&1 && return
		sleep 0.1
	done
	cat "$tmp/await" >&2
	return 1
}

end_server()
{
	kill "$server" && wait "$server"
} 2>/dev/null

# Each serve_NAME TRACER... runs the server under TRACER, and prints its requests per second.
serve_redis()
{
	count=$((server_seconds * 20000))
	"$@" redis-server --port $server_port --save '' --appendonly no --dir "$tmp" >"$tmp/server" 2>&1 &
	server=$!
	await redis-cli -p $server_port ping &&
		redis-benchmark -p $server_port -c 16 -n $count -r 100000 --csv set __key:__rand_int__ value |
		awk -F'[",]+' '!/rps/ { print $(NF > 4 ? 3 : NF - 1) }'
	redis-cli -p $server_port shutdown nosave >/dev/null 2>&1
	wait $server
}

# under_ab CONFIGURATION TRACER...: runs nginx with these lines of configuration, and loads it with ab
under_ab()
{
	mkdir -p "$tmp/web" && head -c 4096 /dev/zero >"$tmp/web/page"
	echo "daemon off; pid $tmp/nginx.pid; error_log $tmp/nginx.log; $1" >"$tmp/nginx.conf"
	shift
	chmod -R a+rX "$tmp"
	"$@" nginx -c "$tmp/nginx.conf" >"$tmp/server" 2>&1 &
	server=$!
	await ab -n 1 http://127.0.0.1:$server_port/page &&
		ab -q -k -c 16 -t "$server_seconds" -n 100000000 http://127.0.0.1:$server_port/page 2>/dev/null |
		awk '/^Requests per second/ { print $4 }'
	kill "$(cat "$tmp/nginx.pid")"
	wait $server
}

# One worker and one ab, on an otherwise idle machine: the faster of the two sleeps until the other
# one wakes it, by an interrupt between processors for each answer.
serve_nginx()
{
	under_ab "worker_processes 1; events { worker_connections 256; }
		http { access_log off; server { listen 127.0.0.1:$server_port; root $tmp/web; } }" "$@"
}

# With the settings of Debian's nginx.conf: a worker for each processor, a log, sendfile. Workers and
# ab keep all processors busy, so that the cost of tracing reduces the number of answers by its share
# of processor time.
serve_nginx_as_shipped()
{
	: >"$tmp/access.log"
	under_ab "worker_processes auto; events { worker_connections 768; }
		http { sendfile on; tcp_nopush on; types_hash_max_size 2048; gzip on;
		include /etc/nginx/mime.types; default_type application/octet-stream;
		access_log $tmp/access.log;
		server { listen 127.0.0.1:$server_port; root $tmp/web; } }" "$@"
}

as_postgres()
{
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

serve_postgres()
{
	bin=$(pg_config --bindir 2>/dev/null || dirname "$(find /usr/lib/postgresql -name initdb | head -n 1)")
	base=$tmp/postgres
	if [ ! -d "$base" ]; then
		mkdir "$base" && chmod a+rx "$tmp"
		[ "$(id -u)" != 0 ] || chown postgres "$base"
		as_postgres "$bin/initdb" -D "$base/data" >"$tmp/server" 2>&1 || return
	fi
	as_postgres "$@" "$bin/postgres" -D "$base/data" -k "$base" -h '' -p $server_port >"$tmp/server" 2>&1 &
	server=$!
	await as_postgres "$bin/pg_isready" -q -h "$base" -p $server_port &&
		{ [ -f "$tmp/filled" ] || as_postgres pgbench -q -i -h "$base" -p $server_port postgres; } >"$tmp/fill" 2>&1 &&
		: >"$tmp/filled" &&
		as_postgres pgbench -S -c 8 -j 2 -T "$server_seconds" -h "$base" -p $server_port postgres 2>/dev/null |
		awk '/^tps/ { print $3; exit }'
	as_postgres "$bin/pg_ctl" -D "$base/data" -m fast stop >/dev/null 2>&1
	wait $server
}

row_production()
{
	title 'Production: servers under load, untraced and with --production' \
		"Requests a second, $server_rounds times $server_seconds seconds each, in turn; the ratio is of untraced to traced."
	echo '| server | untraced | --production | ratio, median (least to most) |'
	echo '|---|--:|--:|--:|'
	mkdir -p "$tmp/traces" && chmod a+rwx "$tmp/traces"
	for pair in redis:redis-benchmark nginx:ab nginx_as_shipped:ab postgres:pgbench; do
		server_name=${pair%%:*}
		case " ${SERVERS:-$server_name} " in
		*" $server_name "*) ;;
		*) continue ;;
		esac
		command -v "${pair#*:}" >/dev/null || {
			echo "no ${pair#*:}: $server_name is left out" >&2
			continue
		}
		: >"$tmp/rates"
		for round in $(seq "$server_rounds"); do
			[ $((round % 2)) = 0 ] || plain=$("serve_$server_name" env)
			traced=$("serve_$server_name" "$PWD/holdtrace" record -q --production -f \
				-o "$tmp/traces/$server_name.htr")
			[ $((round % 2)) = 1 ] || plain=$("serve_$server_name" env)
			echo "$plain $traced" >>"$tmp/rates"
		done
		awk -v name="$server_name" 'function median(a, n,   i, j, t) {
				for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) {
					t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
				return (a[int((n + 1) / 2)] + a[int(n / 2) + 1]) / 2 }
			$1 > 0 && $2 > 0 { n++; u[n] = $1; p[n] = $2; r[n] = $1 / $2 }
			END { if (!n) { print "| " name " | - | - | - |"; exit }
				m = median(r, n)
				gsub(/_/, " ", name)
				printf "| %s | %.0f | %.0f | %.3f (%.3f to %.3f) |\n", name, median(u, n),
					median(p, n), m, r[1], r[n] }' "$tmp/rates"
	done
}
