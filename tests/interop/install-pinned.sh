#!/usr/bin/env bash
# Sourced by the interop scripts: programs of the registries, in pinned versions, in the user's cache.

# install_pinned NAME WHAT…: makes sure that the folder $tools holds exactly these, `name==version` from PyPI (in bin) and
# `name@version` from npm (in node_modules).
install_pinned() {
    tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/$1"
    shift
    local what python=() npm=()
    if [ "$(cat "$tools/installed" 2>/dev/null)" = "$*" ]; then return; fi
    for what in "$@"; do
        case $what in
            *==*) python+=("$what") ;;
            *) npm+=("$what") ;;
        esac
    done
    echo "interop: installing $*"
    rm -rf "$tools"
    mkdir -p "$tools"
    if [ ${#python[@]} -gt 0 ]; then
        python3 -m venv "$tools" || { echo "interop: python3 with venv is missing (Debian: python3-venv)" >&2; exit 1; }
        "$tools/bin/pip" install --quiet "${python[@]}"
    fi
    if [ ${#npm[@]} -gt 0 ]; then
        command -v npm >/dev/null || { echo "interop: npm is missing (Debian: npm)" >&2; exit 1; }
        npm install --prefix "$tools" --silent --no-audit --no-fund --no-save "${npm[@]}" </dev/null
    fi
    echo "$*" >"$tools/installed"
}

# find_chromium: prints the path of the system's Chromium, or nothing.
find_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome || true
}
