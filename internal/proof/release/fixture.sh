#!/bin/sh
# Makes fixtures/releases/VERSION of a released program: a warehouse with a trace and a run, what is published of it, the
# plan, and the folder of the run. Done once, when a version is released.
#
#     sh internal/proof/release/fixture.sh PROGRAM fixtures/releases/VERSION
set -eu
program=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
work=$(mktemp -d)
trap '[ -z "${server:-}" ] || kill $server; rm -rf "$work"' EXIT
cd "$work"
export TIDEMARK_PUBLISH= TIDEMARK_WAREHOUSE=fleet.duckdb

# Forty requests in four seconds, made up.
{
    echo TIMESTAMP,ContextTokens,GeneratedTokens
    i=0
    while [ $i -lt 40 ]; do
        echo "2026-11-16 18:00:0$((i / 10)).$((i % 10))000000,$((100 + i * 37 % 900)),$((8 + i * 13 % 40))"
        i=$((i + 1))
    done
} >made-up.csv
printf 'schema: tidemark.slo/1\nname: chat\nobjectives: [{metric: ttft, percentile: 50, at_most: 5s}]\n' >slo.yaml

"$program" ingest made-up.csv
"$program" plan made-up --output plan.jsonl.zst
"$program" simulate --gpu H100 --catalog-model llama-3.1-8b --port 8765 >simulate.log 2>&1 &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    if curl -s -o /dev/null http://127.0.0.1:8765/v1/models; then break; fi
    sleep 1
done
# Its verdict may be that the machine was busy: the files are what counts.
"$program" replay plan.jsonl.zst --base-url http://127.0.0.1:8765 --model llama-3.1-8b --gpu H100 --catalog-model llama-3.1-8b --slo slo.yaml --runs runs || [ $? -le 3 ]
rm -rf "$output"/*
gzip -9n <fleet.duckdb >"$output/fleet.duckdb.gz"
cp plan.jsonl.zst "$output/"
cp -r runs "$output/runs"
if [ -d fleet.published ]; then
    rm -f fleet.published/latest.duckdb fleet.published/spare.duckdb fleet.published/.lock
    tar -czf "$output/published.tar.gz" --sort=name --owner=0 --group=0 -C fleet.published .
fi
"$program" sql --csv "select count(*) as requests, sum(output_tokens) as output_tokens from staging.requests" >"$output/requests.csv"
du -sh "$output"
