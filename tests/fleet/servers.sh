# shellcheck shell=sh
# servers.sh - real PostgreSQL servers for scripts: each in a folder of its own under /tmp, reached by a unix socket only, run as user postgres
# when the script is root, and stopped when the script ends or is killed. To be sourced.
#   servers_begin              makes $servers, the folder of them all
#   server_make NAME [LINES]   makes a cluster with LINES of postgresql.conf, starts it; superuser postgres, database postgres. It keeps what it
#                              acknowledged when it is killed, though not without power
#   server_start NAME, server_stop NAME [SIGNAL], server_kill NAME
#   sql NAME SQL               as superuser in database postgres (or $database); one value a line
#   server_url NAME [USER]     a URL for tare
#   servers_end                stops all and removes the folder
programs=${TARE_PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)}

# Runs a command as who may run PostgreSQL; it is asked to end when this script dies.
as_postgres() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups --pdeathsig INT "$@"
	else
		setpriv --pdeathsig INT "$@"
	fi
}

servers_begin() {
	servers=$(mktemp -d /tmp/tare-pg.XXXXXX)
	chmod 755 "$servers"
	[ "$(id -u)" -ne 0 ] || chown postgres: "$servers"
}

server_make() {
	mkdir "$servers/$1"
	[ "$(id -u)" -ne 0 ] || chown postgres: "$servers/$1"
	(cd / && as_postgres "$programs/initdb" -D "$servers/$1/d" -U postgres -A trust -E UTF8 --locale=C --no-sync) >"$servers/$1.log" 2>&1 || return 1
	cat >>"$servers/$1/d/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$servers/$1'
		port = 5432
		fsync = off
		full_page_writes = off
		shared_buffers = 16MB
		max_connections = 100
		autovacuum = off
		shared_preload_libraries = 'pg_stat_statements'
		track_functions = all
		log_min_messages = error
		${2-}
	CONF
	server_start "$1" && sql "$1" 'CREATE EXTENSION pg_stat_statements' >/dev/null
}

server_start() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups --pdeathsig INT "$programs/postgres" -D "$servers/$1/d" >>"$servers/$1.log" 2>&1 </dev/null &
	else
		setpriv --pdeathsig INT "$programs/postgres" -D "$servers/$1/d" >>"$servers/$1.log" 2>&1 </dev/null &
	fi
	echo $! >"$servers/$1.pid"
	tries=0
	until "$programs/pg_isready" -q -h "$servers/$1"; do
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ]; then
			cat "$servers/$1.log" >&2
			return 1
		fi
		sleep 0.1
	done
}

server_stop() {
	kill -"${2:-INT}" "$(cat "$servers/$1.pid")" 2>/dev/null
	wait "$(cat "$servers/$1.pid")" 2>/dev/null
	rm -f "$servers/$1.pid"
}

# As a crash: the postmaster and whatever it has started.
server_kill() {
	postmaster=$(cat "$servers/$1.pid")
	# shellcheck disable=SC2046 # a list of numbers
	kill -KILL "$postmaster" $(ps -o pid= --ppid "$postmaster") 2>/dev/null
	wait "$postmaster" 2>/dev/null
	rm -f "$servers/$1.pid" "$servers/$1/d/postmaster.pid" "$servers/$1/".s.PGSQL.*
}

sql() {
	"$programs/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$servers/$1" -U postgres -d "${database:-postgres}" -c "$2"
}

server_url() {
	printf 'postgresql://%s@%s/postgres\n' "${2:-postgres}" "$(printf %s "$servers/$1" | sed 's:/:%2F:g')"
}

servers_end() {
	for file in "$servers"/*.pid; do
		[ ! -f "$file" ] || kill -QUIT "$(cat "$file")" 2>/dev/null
	done
	for file in "$servers"/*.pid; do
		[ ! -f "$file" ] || wait "$(cat "$file")" 2>/dev/null
	done
	rm -rf "$servers"
}
