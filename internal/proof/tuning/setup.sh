#!/usr/bin/env bash
# What the study of tune needs and `make test` does not: Optuna, the Torch of its GP sampler, and moocore in a venv in the cache folder that is given as
# first argument. Only a venv that was finished is used again.
set -euo pipefail
packages='moocore==0.3.2 optuna==5.0.0 scipy torch==2.15.0'
venv=$1/tuning-$(printf %s "$packages" | cksum | cut -d ' ' -f 1)

fail() { printf 'tuning: error: %s\ntuning: hint: %s\n' "$1" "$2" >&2; exit 1; }

if [ ! -e "$venv/finished" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "python3 is missing or older than 3.11" "install Python 3.11 or newer (Debian, Ubuntu: apt-get install python3 python3-venv)"
  echo "tuning: making $venv"
  mkdir -p "$1"
  python3 -m venv --clear "$venv" || fail "python3 has no venv" "Debian, Ubuntu: apt-get install python3-venv"
  # shellcheck disable=SC2086 # a word is a package
  "$venv/bin/pip" install --quiet --disable-pip-version-check $packages ||
    fail "pip could not install $packages: the lines above say why" "it needs a Python package index; run this again"
  touch "$venv/finished"
fi
ln -sfn "$venv" "$1/tuning"
