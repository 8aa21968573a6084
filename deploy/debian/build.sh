#!/usr/bin/env bash
# Builds the Debian package of this machine's architecture: deploy/debian/build.sh FOLDER [PROFILE].
#
# The package has the binary, the units, /etc/cairn/cairn.toml, manual pages, completions and guides. It needs the C
# library of the machine that builds it, or a newer one. cargo-deb is compiled once, pinned, into the user's cache.
set -euo pipefail

folder=${1:?usage: $0 FOLDER [PROFILE]}
profile=${2:-release}
version=3.8.0
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/tools"
cd "$(dirname "$0")/../.."

if [ "$("$tools/bin/cargo-deb" --version 2>/dev/null)" != "cargo-deb $version" ]; then
    echo "package: compiling cargo-deb $version (once)"
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    cargo install --locked --quiet --root "$tools" --target-dir "$build" "cargo-deb@$version"
fi
command -v dpkg-shlibdeps >/dev/null || { echo "package: dpkg-dev is missing (Debian: dpkg-dev)" >&2; exit 1; }

# `cairn --version` says which commit it is.
commit=${CAIRN_COMMIT:-$(git describe --always --dirty 2>/dev/null || true)}
CAIRN_COMMIT=$commit cargo build --locked --profile "$profile" --bin cairn
cairn="${CARGO_TARGET_DIR:-target}/$profile/cairn"

# What the package has and the tree has not: Cargo.toml names this folder.
staged=target/debian-staged
rm -rf "$staged"
mkdir -p "$staged/units" "$staged/completions" "$folder"
"$cairn" manual "$staged/manual"
"$cairn" completions bash >"$staged/completions/cairn"
"$cairn" completions zsh >"$staged/completions/_cairn"
"$cairn" completions fish >"$staged/completions/cairn.fish"
# Files of a package belong below /usr, not /usr/local.
for unit in deploy/*.service deploy/*.timer; do
    sed 's|/usr/local/bin/|/usr/bin/|' "$unit" >"$staged/units/$(basename "$unit")"
done
"$tools/bin/cargo-deb" --locked --no-build --profile "$profile" --output "$folder/"
