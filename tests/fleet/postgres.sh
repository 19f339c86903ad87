# postgres.sh - a real PostgreSQL for scripts: `. postgres.sh` behind lib.sh, then postgres_start; $pg_url is its database. It listens on a unix
# socket in a folder of its own and is stopped, and its folder gone, when the script ends in whatever way.

postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
postgres_home=

postgres_as() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups "$@"
	else
		"$@"
	fi
}

postgres_stop() {
	[ -n "$postgres_home" ] || return 0
	postgres_as "$postgres_bin/pg_ctl" -D "$postgres_home/d" -m immediate -s stop >/dev/null 2>&1
	rm -rf "$postgres_home"
	postgres_home=
}

# postgres_start [LINES-OF-CONFIGURATION]
postgres_start() {
	postgres_home=$(mktemp -d /tmp/tpg.XXXXXX)
	chmod 755 "$postgres_home"
	[ "$(id -u)" -ne 0 ] || chown postgres "$postgres_home"
	trap 'postgres_stop; cd / && rm -rf "$place"' EXIT
	trap 'exit 129' HUP INT TERM
	(
		cd "$postgres_home" || exit 1
		postgres_as "$postgres_bin/initdb" -D d -A trust -U postgres -E UTF8 --locale=C -N >init.log 2>&1 || exit 1
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$postgres_home'" 'fsync = off' 'shared_buffers = 16MB' \
			"$@" >>d/postgresql.conf
		postgres_as "$postgres_bin/pg_ctl" -D d -l log -w -s start >start.log 2>&1
	) </dev/null || {
		cat "$postgres_home"/*.log "$postgres_home/log" >&2 2>/dev/null
		return 1
	}
	pg_url="postgresql://postgres@/postgres?host=$postgres_home"
}
