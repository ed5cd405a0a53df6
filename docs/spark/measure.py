"""What the table of hours costs on DuckDB and on Spark: the figures of docs/spark.md.

    python measure.py make 10000000 FOLDER             a lake of made-up requests: one service, one source, four weeks
    python measure.py run duckdb FOLDER                prints seconds, CPU-seconds and the most memory of the table of hours
"""

import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time

import questions

WEEKS = "['2026-W40', '2026-W41', '2026-W42', '2026-W43']"
BEGIN = "timestamptz '2026-09-28 00:00:00+00'"


def make(requests, folder):
    import duckdb

    db = duckdb.connect(config={"threads": 2, "memory_limit": "4GB"})
    db.execute("set timezone = 'UTC'; set preserve_insertion_order = true")

    def write(relation, select):
        to = pathlib.Path(folder) / relation
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        db.execute(f"copy ({select}) to '{to}/part.parquet' (format parquet, compression zstd)")

    seconds = 4 * 7 * 86400
    # In order of time, a day in a sine, lengths from hashes: the same rows every time.
    write("staging.arrivals", f"""
        select 1::bigint as source_id, 'gateway' as source_name, i as seq, offset_s, {BEGIN} + to_microseconds((offset_s * 1e6)::bigint) as arrival_at,
            (200 + hash(i) % 7800)::bigint as input_tokens, (hash(i + 1) % 400)::bigint as output_tokens,
            case when hash(i + 2) % 4 = 0 then 'batch' else 'chat' end as class, null::varchar as model, hash(i + 3) % 100 = 0 as is_failed
        from (select i, {seconds}::double * i / {requests} + 7200 * sin(2 * pi() * 28 * i / {requests}) + 7200e0 as offset_s from range({requests}) as r (i))
        where offset_s < {seconds}""")  # fmt: skip
    hours = f"select {BEGIN} + to_hours(n) as hour_start, ({WEEKS})[1 + n // 168] as week from range(672) as r (n)"
    write("marts.service_hours", f"""
        select 'made-up' as service, week, hour_start, strftime(hour_start, '%Y-%m-%d %H:%M+00:00') as local_hour, 40 as paid_replicas,
            12e0 as replica_rate_per_s, 10e0 as low_replica_rate_per_s, 15e0 as high_replica_rate_per_s
        from ({hours})""")  # fmt: skip
    write("marts.service_weeks", f"""
        select 'made-up' as service, unnest({WEEKS}) as week, 8::bigint as gpus_per_replica, 2.5e0 as usd_per_gpu_hour,
            0.01e0 as allowed_ratio, 12e0 as basis_replica_rate_per_s""")  # fmt: skip
    write("marts.service_sources", f"""
        select 'made-up' as service, unnest({WEEKS}) as week, 0::bigint as place, 'gateway' as source_name, null::varchar as class,
            null::varchar as model, 'rows' as covers""")  # fmt: skip
    write("marts.service_curves", f"""
        select 'made-up' as service, unnest({WEEKS}) as week, rate as rate_per_s, rate / 100 as missed_ratio, rate / 200 as low_missed_ratio,
            rate / 50 as high_missed_ratio
        from (values (5e0), (10e0), (20e0)) as rates (rate)""")  # fmt: skip


def run(engine, folder):
    question = "hours"
    began = time.time()
    if engine == "duckdb":
        ask = questions.open_duckdb(folder, question, config={"threads": 2, "memory_limit": "8GB", "temp_directory": tempfile.mkdtemp(dir=folder)})
    else:
        from pyspark.sql import SparkSession

        spark = (
            SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g").config("spark.ui.enabled", False)
            .config("spark.sql.warehouse.dir", tempfile.mkdtemp(dir=folder)).config("spark.local.dir", tempfile.mkdtemp(dir=folder)).config("spark.log.level", "ERROR").getOrCreate()
        )  # fmt: skip
        ask = questions.open_spark(folder, question, spark=spark)
    answer = ask(f"select count(*) as hours, sum(requests) as requests, sum(p50_input_tokens) as p50, sum(high_needed_replicas) as needed from portable.{question}")
    rows = answer.fetchall() if engine == "duckdb" else answer.collect()
    done = time.time()
    own = resource.getrusage(resource.RUSAGE_SELF)
    cpu, most = own.ru_utime + own.ru_stime, own.ru_maxrss / 1e6
    if engine == "spark":  # the work is in its Java process, which is a child
        for pid in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                stat = (pid / "stat").read_text().rsplit(")", 1)[1].split()
                if int(stat[1]) == os.getpid():
                    cpu += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
                    most += next(int(line.split()[1]) for line in (pid / "status").read_text().splitlines() if line.startswith("VmHWM")) / 1e6
            except (OSError, StopIteration):
                continue
    print(f"{engine} {folder}: {done - began:.1f} s, {cpu:.1f} CPU-s, {most:.1f} GB: {rows[:1]}", flush=True)


if __name__ == "__main__":
    make(int(sys.argv[2]), sys.argv[3]) if sys.argv[1] == "make" else run(*sys.argv[2:])
