"""The portable questions (queries/portable) over a published lake, on DuckDB or on Spark.

    python questions.py duckdb tidemark.published/lake weeks            prints the rows of queries/portable/weeks.sql as CSV
    spark-submit questions.py spark s3a://bucket/prefix/lake hours --output hours.parquet

Each folder of the lake becomes a view of the name that the relation has in the warehouse, and each question one in the schema portable. The
SQL is the same for both engines; all that differs is in open_duckdb and open_spark.
"""

import argparse
import csv
import json
import pathlib
import re
import sys
import tempfile

QUERIES = pathlib.Path(__file__).resolve().parents[2] / "queries" / "portable"
KEPT = ["bins", "reaches", "requests", "hours", "accepted"]  # read by many of the others: tables, computed once


def questions(*wanted):
    """Name and SQL of the questions that are wanted, all of them unless said, each after those that it reads."""
    texts = {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))}
    ordered = {}

    def add(name):
        for read in re.findall(r"portable\.(\w+)", texts[name]):
            if read not in ordered:
                add(read)
        ordered[name] = texts[name]

    for name in wanted or texts:
        if name not in ordered:
            add(name)
    return ordered


def relations(texts):
    """What the questions read of the lake."""
    return sorted({name for sql in texts for name in re.findall(r"(?:from|join) ((?:staging|marts)\.\w+)", sql)})


def open_duckdb(lake, *wanted, config={}):
    """A function from SQL to a DuckDB relation."""
    import duckdb

    db = duckdb.connect(config=config)
    db.execute("set timezone = 'UTC'; create schema staging; create schema marts; create schema portable")
    for relation in relations(questions(*wanted).values()):
        db.execute(f"create view {relation} as from read_parquet('{lake}/{relation}/**/*.parquet', hive_partitioning = false)")
    for name, sql in questions(*wanted).items():
        db.execute(f"create {'table' if name in KEPT else 'view'} portable.{name} as {sql}")
    return db.sql


def open_spark(lake, *wanted, spark=None):
    """A function from SQL to a Spark DataFrame. Without a session, one is made."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    if spark is None:
        builder = SparkSession.builder
        if not SparkConf().contains("spark.sql.warehouse.dir"):  # on a cluster, a folder that all workers reach
            builder = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        spark = builder.getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for schema in ("staging", "marts", "portable"):
        spark.sql(f"create database if not exists {schema}")
    texts = questions(*wanted)
    named = parts_of(spark, lake)
    for relation in relations(texts.values()):
        if named is None:
            folder = f"{lake}/{relation}" if "://" in lake else pathlib.Path(lake, relation).resolve()
            spark.sql(f"drop table if exists {relation}")
            # Columns as the files have them: a partition's name says no type.
            spark.sql(f"create table {relation} using parquet options (path '{folder}', recursiveFileLookup true)")
        else:
            rows = " union all ".join(f"select * from parquet.`{path}`" for path in named[relation])
            spark.sql(f"create or replace view {relation} as {rows}")
    for name, sql in texts.items():
        if name in KEPT:
            spark.sql(f"drop table if exists portable.{name}")
            spark.sql(f"create table portable.{name} using parquet as {sql}")
        else:
            spark.sql(f"create or replace view portable.{name} as {sql}")
    return spark.sql


def parts_of(spark, lake):
    """The files of each relation in a bucket, by the manifest: old ones may still lie beside them. None of a folder, or without a manifest."""
    from pyspark.errors import AnalysisException

    if "://" not in lake:
        return None
    prefix = lake.rstrip("/").rpartition("/")[0]
    try:
        manifest = json.loads(spark.read.text(f"{prefix}/manifest.json", wholetext=True).first()[0])
    except AnalysisException:  # a lake that ingest.py has made
        return None
    named = {}
    for part in manifest["parts"]:
        named.setdefault(part["relation"], []).append(f"{prefix}/{part['path']}")
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["duckdb", "spark"])
    parser.add_argument("lake")
    parser.add_argument("question", choices=list(questions()))
    parser.add_argument("--output", help="a Parquet file, or folder of files; CSV on the terminal without")
    args = parser.parse_args()
    if args.engine == "duckdb":
        answer = open_duckdb(args.lake, args.question)(f"select * from portable.{args.question}")
        if args.output:
            answer.write_parquet(args.output)
            return
        rows = answer.fetchall()
    else:
        answer = open_spark(args.lake, args.question)(f"select * from portable.{args.question}")
        if args.output:
            answer.write.parquet(args.output)
            return
        rows = answer.collect()
    writer = csv.writer(sys.stdout)
    writer.writerow(answer.columns)
    writer.writerows(rows)


if __name__ == "__main__":
    main()
