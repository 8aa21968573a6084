#!/usr/bin/env bash
# Installs what the build or the tests need from outside Cargo, and only where it is missing.
#
#   .ci/install-tools.sh build   a compiler for C++20, make, cmake, pkg-config, libclang, ccache (RocksDB, jemalloc)
#   .ci/install-tools.sh test    the same, the Boost headers (the tests build Bitcoin Core's kernel), strace, Valgrind
#
# Debian and its relatives: by apt-get, through sudo if not root. Elsewhere it names what is missing and stops.
set -euo pipefail

purpose=${1:-build}
case "$purpose" in
build | test) ;;
*)
    echo "usage: $0 [build|test]" >&2
    exit 2
    ;;
esac

if ! command -v cargo >/dev/null; then
    echo "install-tools: cargo is missing; Rust comes from https://rustup.rs" >&2
    exit 1
fi

# Each check asks for the thing itself, not for a package, so that any way of having it counts.

have_cpp20() {
    printf '#include <compare>\n#include <memory>\nint main() {}\n' |
        c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null
}

# bindgen needs the library and, beside it, clang's own headers (stddef.h).
have_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    local folder
    for folder in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
        if compgen -G "$folder/libclang*.so*" >/dev/null; then
            compgen -G "/usr/lib/llvm-*/lib/clang/*/include/stddef.h" >/dev/null && return 0
            compgen -G "/usr/lib*/clang/*/include/stddef.h" >/dev/null && return 0
            compgen -G "/usr/local/lib/clang/*/include/stddef.h" >/dev/null && return 0
        fi
    done
    return 1
}

have_boost() {
    echo '#include <boost/multi_index_container.hpp>' | c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null
}

have_ccache() {
    [ -x /usr/lib/ccache/c++ ] || command -v ccache >/dev/null
}

# find_missing: fills `packages` with Debian's names of what the build cannot do without and `wanted` with what only
# makes it faster.
find_missing() {
    packages=()
    wanted=()
    have_cpp20 || packages+=(g++ libc6-dev)
    command -v cc >/dev/null || packages+=(gcc)
    command -v make >/dev/null || packages+=(make)
    command -v cmake >/dev/null || packages+=(cmake)
    command -v pkg-config >/dev/null || packages+=(pkg-config)
    have_libclang || packages+=(libclang-dev)
    if [ "$purpose" = test ]; then
        have_boost || packages+=(libboost-dev)
        command -v git >/dev/null || packages+=(git)
    fi
    have_ccache || wanted+=(ccache)
    # Some crash tests kill at chosen system calls, and instructions are counted; without these two tools that is skipped
    # by name.
    if [ "$purpose" = test ]; then
        command -v strace >/dev/null || wanted+=(strace)
        command -v valgrind >/dev/null || wanted+=(valgrind)
        # The service state is tested in PostgreSQL, too.
        [ -d /usr/lib/postgresql ] || command -v initdb >/dev/null || wanted+=(postgresql)
    fi
}

find_missing
if [ ${#packages[@]} -eq 0 ] && [ ${#wanted[@]} -eq 0 ]; then
    exit 0
fi

as_root=()
can_install=yes
if ! command -v apt-get >/dev/null; then
    can_install=no
elif [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null; then as_root=(sudo); else can_install=no; fi
fi

if [ "$can_install" = yes ]; then
    echo "install-tools: installing ${packages[*]} ${wanted[*]}"
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends)
    # The package lists of a fresh machine are empty or old: refresh them, but only when an install needs it.
    if ! "${install[@]}" "${packages[@]}" "${wanted[@]}"; then
        "${as_root[@]}" apt-get update || true
        "${install[@]}" "${packages[@]}" "${wanted[@]}" || true
    fi
    find_missing
fi

if [ ${#wanted[@]} -gt 0 ]; then
    echo "install-tools: no ${wanted[*]}: everything works, but without ccache RocksDB may compile more than once" \
        "(20 minutes on 2 cores), and without strace, valgrind or postgresql some tests are skipped" >&2
fi
if [ ${#packages[@]} -gt 0 ]; then
    echo "install-tools: missing and not installed: ${packages[*]} (Debian's names)" >&2
    echo "install-tools: the build needs a C++20 compiler, make, cmake, pkg-config and libclang;" \
        "the tests also need the Boost headers" >&2
    echo "install-tools: on Debian or Ubuntu, as root: apt-get update && apt-get install ${packages[*]}" >&2
    echo "install-tools: on Fedora: dnf install gcc-c++ make cmake pkgconf clang-devel boost-devel ccache" >&2
    echo "install-tools: on macOS: xcode-select --install; brew install llvm cmake pkgconf boost ccache; set LIBCLANG_PATH" >&2
    exit 1
fi
