#!/usr/bin/env bash
# What test-spark needs and `make test` does not: PySpark, which brings Spark, with pandas and pyarrow, and pip's DuckDB in a venv of its own (900 MB), kept in the cache
# folder that is given as first argument. Java is the machine's. Only a venv that was finished is used again.
set -euo pipefail
spark=4.3.0
duckdb=2.0.0
venv=$1/spark-sql-$spark-$duckdb

fail() { printf 'test-spark: error: %s\ntest-spark: hint: %s\n' "$1" "$2" >&2; exit 1; }

java -version >/dev/null 2>&1 || fail "java is missing" "install Java 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)"
if [ ! -e "$venv/finished" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "python3 is missing or older than 3.11" "install Python 3.11 or newer (Debian, Ubuntu: apt-get install python3 python3-venv)"
  echo "test-spark: making $venv with pyspark $spark and duckdb $duckdb"
  mkdir -p "$1"
  python3 -m venv --clear "$venv" || fail "python3 has no venv" "Debian, Ubuntu: apt-get install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "pyspark[sql]==$spark" "pandas<3" "duckdb==$duckdb" pytz || # DuckDB reads instants with pytz
    fail "pyspark $spark was not installed: the lines above say why" "it needs a Python package index; run this again"

  touch "$venv/finished"
fi
ln -sfn "$venv" "$1/spark"
