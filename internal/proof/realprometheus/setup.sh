#!/bin/sh
# Makes, or finds ready, what the prometheus tests run: prometheus and promtool of Debian's package, unpacked without root.
#
#     sh internal/proof/realprometheus/setup.sh CACHE    # prints what it does; its last line is the folder of the programs
#
# Only apt-get and dpkg-deb are needed. It may be killed at any moment: a folder is renamed into place when it is whole.
set -eu

cache=${1:?the cache folder}
folder=$cache/prometheus

say() { printf 'realprometheus: %s\n' "$*"; }
fail() { printf 'realprometheus: error: %s\n' "$1" >&2; printf 'realprometheus: hint: %s\n' "$2" >&2; exit 1; }

if [ ! -x "$folder/usr/bin/promtool" ]; then
    for program in apt-get dpkg-deb; do
        command -v "$program" >/dev/null || fail "there is no $program" "put prometheus and promtool into $folder/usr/bin"
    done
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/prometheus.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    say "downloading Debian's prometheus, 20 MB"
    if ! (cd "$work" && apt-get download -qq prometheus 2>/dev/null); then
        # The machine's lists are missing or old; these are of this folder alone, so that root is not needed.
        mkdir -p "$work/state/lists/partial" "$work/archives/partial"
        set -- -qq -o Dir::State="$work/state" -o Dir::State::lists="$work/state/lists" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$work/archives"
        (cd "$work" && apt-get "$@" update && apt-get "$@" download prometheus) || fail "it cannot be downloaded: the lines above say why" "put prometheus and promtool into $folder/usr/bin"
    fi
    dpkg-deb -x "$work"/prometheus_*.deb "$work/unpacked"
    rm -rf "$folder"
    mv "$work/unpacked" "$folder"
fi
"$folder/usr/bin/prometheus" --version 2>&1 | head -1
say "$folder/usr/bin"
