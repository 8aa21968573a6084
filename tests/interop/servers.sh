#!/usr/bin/env bash
# Sourced by the interop scripts that start servers: a folder for their files, and an end to all that was started.

# begin_servers NAME: makes the folder $work, which goes with the script. NAME stands in messages.
begin_servers() {
    script=$1 work=$(mktemp -d) started=() newest=''
    trap stop_servers EXIT
}

# stop_servers: ends what was started. A script that has made more than processes and files defines `clean_up`.
stop_servers() {
    local process
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    if declare -F clean_up >/dev/null; then clean_up; fi
    rm -rf --one-file-system "$work"
}

# skip NAME WHY: ends the script as one that cannot run here.
skip() {
    echo "interop: skipped $1: $2" >&2
    exit 0
}

# fail WHY: ends the script with the end of each log.
fail() {
    {
        echo "interop: $script: $1; the end of each log:"
        tail -n 30 "$work"/*.log || true
    } >&2
    exit 1
}

# start_server NAME COMMAND…: starts it, with its output in NAME.log. Sets $newest to its process.
start_server() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    newest=$!
    started+=("$newest")
}

# end_server PROCESS [SIGNAL]: ends a process that was started, and waits for its end. Its status does not matter.
end_server() {
    kill "-${2:-TERM}" "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
    [ "$1" != "$newest" ] || newest=''
}

# wait_for SECONDS WHAT COMMAND…: until the command succeeds. Fails at once if the server that was started last has ended.
wait_for() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ -z "$newest" ] || kill -0 "$newest" 2>/dev/null || fail "$what: the server has ended"
        [ "$SECONDS" -lt "$until" ] || fail "waited too long for $what"
        sleep 0.5
    done
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# address_of LOG WORDS: the address that the log names after these words.
address_of() { sed -n "s|.*$2\"\?\([0-9.]*:[0-9]*\).*|\1|p" "$1" | head -n 1; }
