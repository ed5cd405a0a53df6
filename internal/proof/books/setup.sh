#!/usr/bin/env bash
# What the notebooks need and `make test` does not: Jupyter, marimo and the libraries of each notebook in a venv of their own, kept in
# the cache folder that is given as first argument. Only a venv that was finished is used again.
set -euo pipefail
other_duckdb=1.5.5 # in a folder beside the venv's own: PYTHONPATH chooses
packages='
adbc-driver-manager==1.13.0
duckdb==2.0.0
ipykernel==7.4.0
jupysql==0.11.1
marimo==0.25.2
matplotlib==3.11.2
nbclient==0.11.0
nbformat==5.11.1
pandas==3.1.1
polars==2.1.0
pyarrow==26.0.1
pytz==2026.6
requests==2.34.2
'
# Another list makes another venv.
venv=$1/notebooks-$(printf '%s %s' "$packages" "$other_duckdb" | cksum | cut -d ' ' -f 1)

fail() { printf 'test-notebooks: error: %s\ntest-notebooks: hint: %s\n' "$1" "$2" >&2; exit 1; }

# An index that is busy is asked three times.
install() {
  for _ in 1 2 3; do
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" && return
  done
  fail "pip could not install $*: the lines above say why" "it needs a Python package index; run this again"
}

if [ ! -e "$venv/finished" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "python3 is missing or older than 3.11" "install Python 3.11 or newer (Debian, Ubuntu: apt-get install python3 python3-venv)"
  echo "test-notebooks: making $venv (1.1 GB)"
  mkdir -p "$1"
  python3 -m venv --clear "$venv" || fail "python3 has no venv" "Debian, Ubuntu: apt-get install python3-venv"
  # shellcheck disable=SC2086 # a word is a package
  install $packages
  install --target "$venv/other-duckdb" "duckdb==$other_duckdb"
  touch "$venv/finished"
fi
ln -sfn "$venv" "$1/notebooks"
