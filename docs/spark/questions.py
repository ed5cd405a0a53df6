"""The portable questions (queries/portable) over a published lake, on DuckDB or on Spark.

    python questions.py duckdb tidemark.published/lake weeks            prints the rows of queries/portable/weeks.sql as CSV
    spark-submit questions.py spark s3a://bucket/prefix/lake hours --output hours.parquet

Each folder of the lake becomes a view of the name that the relation has in the warehouse, and each question one in the schema portable. The
SQL is the same for both engines; all that differs is in open_duckdb and open_spark.
"""

import argparse
import csv
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
    """A function from SQL to a Spark DataFrame. Without a session, one on this machine."""
    if spark is None:
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).config("spark.ui.enabled", False).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for schema in ("staging", "marts", "portable"):
        spark.sql(f"create database if not exists {schema}")
    if "://" not in lake:
        lake = pathlib.Path(lake).resolve()  # Spark reads a relative path from its own folder
    for relation in relations(questions(*wanted).values()):
        # Columns as the files have them: a partition's name says no type.
        spark.sql(f"create table {relation} using parquet options (path '{lake}/{relation}', recursiveFileLookup true)")
    for name, sql in questions(*wanted).items():
        spark.sql(f"create {'table' if name in KEPT else 'view'} portable.{name} as {sql}")
    return spark.sql


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
