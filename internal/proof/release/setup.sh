#!/bin/sh
# Makes, or finds ready, what a release needs beyond Go and a C compiler: nfpm and crane from the Go module proxy, and
# Debian's compiler for arm64 with an emulator to try its work, unpacked without root.
#
#     sh internal/proof/release/setup.sh CACHE
#
# It may be killed at any moment: a folder is renamed into place when it is whole.
set -eu

cache=${1:?the cache folder}
mkdir -p "$cache"
fail() { printf 'release: error: %s\nrelease: hint: %s\n' "$1" "$2" >&2; exit 1; }

tool() { # name, module of the command, version
    if [ ! -x "$cache/$1-$3/$1" ]; then
        work=$(mktemp -d "$cache/$1.XXXXXX")
        echo "release: building $1 $3"
        (cd / && GOFLAGS= CGO_ENABLED=0 GOBIN="$work" go install "$2@$3") || fail "$1 cannot be built: the lines above say why" "it needs the Go module proxy"
        rm -rf "$cache/$1-$3"
        mv "$work" "$cache/$1-$3"
    fi
    ln -sfn "$cache/$1-$3" "$cache/$1"
}
tool nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm v2.43.4 # later ones need modules that the proxy does not carry
tool crane github.com/google/go-containerregistry/cmd/crane v0.22.1

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "no Debian on amd64" "releases are made there: the compiler for arm64 is Debian's"
if [ ! -x "$cache/aarch64-cross/bin/aarch64-linux-gnu-g++" ]; then
    work=$(mktemp -d "$cache/aarch64.XXXXXX")
    chmod 755 "$work"
    mkdir -p "$work/debs" "$work/root" "$work/state/lists/partial" "$work/archives/partial"
    echo "release: downloading Debian's compiler for arm64, 110 MB"
    apt="-qq"
    if ! apt-cache show g++-aarch64-linux-gnu >/dev/null 2>&1; then
        apt="-qq -o Dir::State=$work/state -o Dir::State::lists=$work/state/lists -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache=$work/archives"
        apt-get $apt update || fail "Debian's packages cannot be listed" "see /etc/apt/sources.list"
    fi
    # What is installed already is listed as well, so that the folder is the same on every machine.
    packages=$(apt-get $apt -o Dir::State::status=/dev/null -o APT::Install-Recommends=false -s install g++-aarch64-linux-gnu qemu-user-static | awk '/^Inst/ && $2 ~ /aarch64|arm64|cross|qemu-user|^libmpfr|^libmpc|^libgmp|^libisl|^libzstd|^libctf|^libbfd|^libopcodes|^libjansson/ {print $2}')
    (cd "$work/debs" && apt-get $apt download $packages) || fail "they cannot be downloaded: the lines above say why" "see /etc/apt/sources.list"
    for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
    rm "$work"/root/usr/lib/gcc-cross/aarch64-linux-gnu/*/libstdc++.so # so that the static one is linked
    sed -i 's|/usr/aarch64-linux-gnu/lib/||g' "$work/root/usr/aarch64-linux-gnu/lib/libc.so" # which names files of an installed compiler
    mkdir "$work/root/bin"
    for each in gcc g++; do
        printf '#!/bin/sh\nroot=$(dirname "$0")/..\nexport LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu"\nexport PATH="$root/usr/bin:$PATH"\nexec "$root/usr/bin/aarch64-linux-gnu-%s" -isystem "$root/usr/aarch64-linux-gnu/include" -B"$root/usr/aarch64-linux-gnu/lib" -L"$root/usr/aarch64-linux-gnu/lib" "$@"\n' $each >"$work/root/bin/aarch64-linux-gnu-$each"
        chmod 755 "$work/root/bin/aarch64-linux-gnu-$each"
    done
    ln -s ../usr/bin/qemu-aarch64-static "$work/root/bin/qemu-aarch64-static"
    rm -rf "$cache/aarch64-cross"
    mv "$work/root" "$cache/aarch64-cross"
    rm -rf "$work"
fi
"$cache/aarch64-cross/bin/aarch64-linux-gnu-g++" --version | head -1
