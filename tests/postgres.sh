#!/usr/bin/env bash
# Sourced by run.sh: a PostgreSQL server of this run's own, in a folder that goes with it, for the tests of the service state.

# start_postgres: exports CAIRN_TEST_POSTGRES_URL, unless it is set or no server is installed (Debian: postgresql). What it starts ends
# with stop_postgres.
start_postgres() {
    postgres_folder=
    [ -z "${CAIRN_TEST_POSTGRES_URL:-}" ] || return 0
    local programs as=()
    programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    if [ -z "$programs" ] && command -v initdb >/dev/null; then programs=$(dirname "$(command -v initdb)"); fi
    [ -n "$programs" ] || return 0
    postgres_folder=$(mktemp -d)
    if [ "$(id -u)" = 0 ]; then
        # The server refuses to run as root.
        id postgres >/dev/null 2>&1 || return 0
        chown postgres "$postgres_folder"
        as=(runuser -u postgres --)
    fi
    # Its port is only part of the socket's name: it listens on no network.
    if (cd "$postgres_folder" && "${as[@]}" "$programs/initdb" -D "$postgres_folder/data" -U postgres -A trust -E UTF8 --locale=C &&
        "${as[@]}" "$programs/pg_ctl" -D "$postgres_folder/data" -l "$postgres_folder/log" -w -t 60 \
            -o "-c listen_addresses='' -c unix_socket_directories='$postgres_folder' -c fsync=off -c max_connections=200" start) \
        >"${postgres_folder}.log" 2>&1; then
        chmod 755 "$postgres_folder"
        postgres_stop=("${as[@]}" "$programs/pg_ctl" -D "$postgres_folder/data" -m immediate stop)
        export CAIRN_TEST_POSTGRES_URL="postgres://postgres@localhost/postgres?host=$postgres_folder"
    else
        echo "tests: PostgreSQL is installed, but does not start:" >&2
        cat "${postgres_folder}.log" >&2
    fi
}

stop_postgres() {
    [ -n "${postgres_folder:-}" ] || return 0
    if [ -n "${postgres_stop:-}" ]; then (cd / && "${postgres_stop[@]}") >/dev/null 2>&1 || true; fi
    rm -rf "$postgres_folder" "${postgres_folder}.log"
}
