#!/bin/sh
# Puts the load generators that tidemark is measured beside into the cache folder, each in a venv of its own.
#
#     sh internal/proof/peers/setup.sh           # prints what it does; its last line is the folder
#
# They lie in ${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/peers, 8 GB with all that they depend on; `vllm bench serve` is
# the one of `make test-vllm`. Nothing is fetched but Python packages, by pip and uv, from the index they are set to. A
# peer that cannot be had is said aloud and left out: the measurement then reports it as not installed.
# PEERS_ONLY=aiperf,vllm-rs sets up these alone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/peers
vllm_version=0.32.0
missing=

say() { printf 'peers: %s\n' "$*"; }
fail() { printf 'peers: error: %s\n' "$1" >&2; printf 'peers: hint: %s\n' "$2" >&2; exit 1; }
wanted() { case ",${PEERS_ONLY:-$1}," in *,"$1",*) ;; *) return 1 ;; esac; }
without() { say "LEFT OUT: $1: $2"; missing="$missing $1"; }

# Every one of them runs on 3.12, most on 3.11. pyenv hides the versions that are not chosen.
find_python() {
    for name in python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3 python3 python3.11 python; do
        found=$("$name" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        case $found in 3.11|3.12) python=$name; return ;; esac
    done
    fail "no Python 3.11 or 3.12 with venv" "install one (Debian, Ubuntu: apt-get install python3 python3-venv)"
}

# uv makes a venv in seconds; it has one of its own here.
find_uv() {
    uv=$cache/uv/bin/uv
    [ -x "$uv" ] && "$uv" --version >/dev/null 2>&1 && return
    rm -rf "$cache/uv"
    "$python" -m venv "$cache/uv"
    "$cache/uv/bin/python" -m pip install --quiet --disable-pip-version-check uv ||
        fail "install uv: the lines above say why" "it needs a Python package index; run this again"
}

# package NAME REQUIREMENT: a venv with that package. A stamp says that it was finished.
package() {
    wanted "$1" || return 0
    if [ -x "$cache/$1/bin/$1" ] && [ "$(cat "$cache/$1/stamp" 2>/dev/null)" = "$2" ]; then
        say "$2 is ready"
        return
    fi
    say "$2 in $cache/$1"
    rm -rf "${cache:?}/$1"
    if "$uv" venv --quiet --python "$python" "$cache/$1" && "$uv" pip install --quiet --python "$cache/$1/bin/python" "$2"; then
        printf '%s\n' "$2" >"$cache/$1/stamp"
    else
        rm -rf "${cache:?}/$1"
        without "$1" "$2 cannot be installed here; the lines above say why"
    fi
}

# The Rust program comes inside vLLM's wheel for GPUs: the wheel alone is fetched (330 MB), one file is kept of it.
rust() {
    wanted vllm-rs || return 0
    bin=$cache/vllm-rs/bin
    if [ -x "$bin/vllm-rs" ] && [ "$(cat "$cache/vllm-rs/stamp" 2>/dev/null)" = "$vllm_version" ]; then
        say "vllm-rs $vllm_version is ready"
        return
    fi
    say "vllm-rs $vllm_version out of vLLM's wheel, 330 MB"
    rm -rf "$cache/vllm-rs" "$cache/wheel"
    mkdir -p "$bin"
    if "$cache/uv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --dest "$cache/wheel" "vllm==$vllm_version" &&
        "$python" -c 'import glob, sys, zipfile; open(sys.argv[2], "wb").write(zipfile.ZipFile(glob.glob(sys.argv[1])[0]).read("vllm/vllm-rs"))' \
            "$cache/wheel/vllm-$vllm_version-*.whl" "$bin/vllm-rs"; then
        chmod +x "$bin/vllm-rs"
        printf '%s\n' "$vllm_version" >"$cache/vllm-rs/stamp"
    else
        rm -rf "$cache/vllm-rs"
        without vllm-rs "no wheel of vLLM $vllm_version with vllm/vllm-rs in it for this machine"
    fi
    rm -rf "$cache/wheel"
}

# realvllm's set-up makes the venv of vLLM's CPU build, and takes it as it is when it is there.
bench() {
    wanted vllm || return 0
    sh "$here/../realvllm/setup.sh" || without vllm "vLLM's CPU build cannot be installed here; the lines above say why"
}

find_python
mkdir -p "$cache"
# One set-up at a time; the lock goes with this process, however it ends.
exec 9>"$cache/lock"
if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
    say "another set-up is at work; waiting for it"
    flock 9
fi
find_uv
package aiperf "aiperf==0.13.*"
package guidellm "guidellm==0.8.*"
package inference-perf "inference-perf==0.7.*"
rust
bench
[ -z "$missing" ] || say "without:$missing"
say "$cache"
