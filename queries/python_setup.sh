#!/usr/bin/env bash
# What the python test needs and `make test` does not: pip's DuckDB in a venv of its own, kept in the cache folder that is given as
# first argument. Only a venv that was finished is used again.
set -euo pipefail
version=2.0.0
venv=$1/duckdb-python-$version

fail() { printf 'test-python: error: %s\ntest-python: hint: %s\n' "$1" "$2" >&2; exit 1; }

if [ ! -e "$venv/finished" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "python3 is missing or older than 3.11" "install Python 3.11 or newer (Debian, Ubuntu: apt-get install python3 python3-venv)"
  echo "test-python: making $venv with duckdb $version"
  mkdir -p "$1"
  python3 -m venv --clear "$venv" || fail "python3 has no venv" "Debian, Ubuntu: apt-get install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "duckdb==$version" pytz || # it reads instants with pytz
    fail "duckdb $version was not installed: the lines above say why" "it needs a Python package index; run this again"
  touch "$venv/finished"
fi
ln -sfn "$venv" "$1/duckdb-python"
