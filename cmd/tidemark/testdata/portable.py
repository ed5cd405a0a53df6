"""Asks every portable question (queries/portable) of DuckDB and of Spark, over one published lake, and compares the answers with each other and with what
the Monday pages say.

The folder with the lake and the pages is the first argument. One line is printed for each column: how often it was compared, and how far apart the
engines and the page were at most. Counts, texts and instants are equal; other figures differ by a part in 10**9 at most.
"""

import collections
import datetime
import json
import math
import pathlib
import re
import sys
import tempfile

import duckdb
from pyspark.sql import SparkSession

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs" / "spark"))
import questions

FOLDER = sys.argv[1]
LAKE = f"{pathlib.Path(FOLDER).resolve()}/tidemark.published/lake"

# What tells the rows of an answer apart, besides the service and the week.
KEYS = {
    "accepted": ["hour_start"], "bins": ["bin_start"], "changes": ["figure"], "classes": ["class"], "copies": ["source_name"], "days": ["day"],
    "distances": ["figure"], "gaps": ["from_at"], "heat_map": ["input_cell", "output_cell"], "hours": ["hour_start"], "length_bins": ["figure", "bin"],
    "paired_hours": ["hour_start"], "quantiles": ["name"], "usual": ["hour_start", "figure"], "ways_to_run": ["way"],
}  # fmt: skip


class Apart:
    """How far answers were apart, by column."""

    def __init__(self):
        self.columns = collections.defaultdict(lambda: {"n": 0, "known": 0, "apart": 0.0})
        self.wrong = []

    def compare(self, column, where, one, other, off=1e-9):
        if one is None or other is None or isinstance(one, (str, bool)) or isinstance(other, (str, bool)):
            apart = 0.0 if one == other else math.inf
        elif isinstance(one, int) and isinstance(other, int):
            apart = 0.0 if one == other else math.inf
        else:
            apart = 0.0 if one == other else abs(one - other) / max(abs(one), abs(other))
        kept = self.columns[column]
        kept["n"] += 1
        kept["known"] += other not in (None, 0, "")
        kept["apart"] = max(kept["apart"], apart)
        if not apart <= off:
            self.wrong.append(f"{column}, {where}: {one!r} and {other!r}")


engines, page = Apart(), Apart()


def answers():
    """Rows of each question, by engine: lists of dictionaries, instants in microseconds."""
    duck = questions.open_duckdb(LAKE)
    spark = (
        SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).config("spark.ui.enabled", False)
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp()).config("spark.log.level", "ERROR")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # the second compiler costs more here than it saves
        .getOrCreate()
    )  # fmt: skip
    ask = questions.open_spark(f"file://{LAKE}", spark=spark)
    for name, sql in questions.questions().items():
        relation = duck(f"from portable.{name}")
        columns = [f"epoch_us({c}) as {c}" if str(t).startswith("TIMESTAMP") else c for c, t in zip(relation.columns, relation.types)]
        documented = [column for names in re.findall(r"^-- ((?:\w+, )*\w+) {2,}\S", sql, re.MULTILINE) for column in names.split(", ")]
        if documented != relation.columns:
            engines.wrong.append(f"{name}: the header names {documented}, the columns are {relation.columns}")
        answer = duck(f"select {', '.join(columns)} from portable.{name}")
        ours = [dict(zip(answer.columns, row)) for row in answer.fetchall()]
        types = dict(ask(f"select * from portable.{name}").dtypes)
        columns = [f"unix_micros({c}) as {c}" if t == "timestamp" else c for c, t in types.items()]
        theirs = [row.asDict() for row in ask(f"select {', '.join(columns)} from portable.{name}").collect()]
        yield name, ours, theirs
    spark.stop()


def sorted_rows(rows):
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row.values()])


def keyed(name, rows):
    keys = ["metric", "q"] if name == "latencies" else ["service", "week"] + KEYS.get(name, [])
    out = {tuple(row.get(k) for k in keys): row for row in rows}
    if len(out) != len(rows):
        raise SystemExit(f"{name}: {len(rows)} rows have {len(out)} keys")
    return out


def compare_engines(name, ours, theirs):
    """Rows of equal keys; all rows as they are, where nothing tells them apart."""
    if len(ours) != len(theirs):
        engines.wrong.append(f"{name}: {len(ours)} rows and {len(theirs)}")
        return
    if name in ("requests", "silences", "covered", "reaches"):
        pairs = [((), a, b) for a, b in zip(sorted_rows(ours), sorted_rows(theirs))]
    else:
        one, other = keyed(name, ours), keyed(name, theirs)
        if one.keys() != other.keys():
            engines.wrong.append(f"{name}: other keys, such as {list(one.keys() ^ other.keys())[:3]}")
        pairs = [(k, one[k], other[k]) for k in one.keys() & other.keys()]
    for key, a, b in pairs:
        for column in a:
            one, other = a[column], b[column]
            if name == "changes" and column == "ratio":  # of two figures that are nearly the same few digits are left
                one, other = 1 + one, 1 + other
            engines.compare(f"{name}.{column}", key, one, other)


def micros(text):
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1e6)


def compare_page(rows):
    """Each figure of the documents that the pages are drawn from. rows: of each question, by key."""
    warehouse = duckdb.connect(f"{FOLDER}/tidemark.published/latest.duckdb", read_only=True)
    for metric, *quantiles in warehouse.execute("""
        select metric, unnest([0.5, 0.9, 0.99]) as q, unnest([macros.histogram_quantile(buckets, samples, q) for q in [0.5, 0.9, 0.99]])
        from (
            select metric, list(bucket order by bucket) as buckets, list(samples order by bucket) as samples
            from (select metric, bucket, sum(samples)::bigint as samples from marts.latency_histograms group by all)
            group by metric
        )""").fetchall():
        page.compare("latencies.latency_s", metric, rows["latencies"][metric, float(quantiles[0])]["latency_s"], quantiles[1])
    for service, week, text in warehouse.execute("select service, week, document::varchar from staging.service_weeks order by all").fetchall():
        document = json.loads(text)
        with open(f"{FOLDER}/{service}-{week}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
        of = service, week
        compare_hours(of, document, rows)
        compare_sums(of, document, summary, rows)
        compare_shape(of, document, rows)
        compare_changes(of, document, summary, rows)
        compare_rest(of, document, summary, rows)


def compare_hours(of, document, rows):
    for hour in document["hours"]:
        key = *of, micros(hour["hour_start"])
        mine = rows["hours"][key]
        for column in ("local_hour", "day", "is_missing", "requests", "rate_per_s", "peak_rate_per_s", "input_tokens", "output_tokens", "p50_input_tokens",
                       "p99_input_tokens", "p50_output_tokens", "p99_output_tokens", "burst_ratio", "needed_replicas", "low_needed_replicas",
                       "high_needed_replicas", "paid_replicas", "cost_usd"):  # fmt: skip
            page.compare(f"hours.{column}", key, mine[column], hour[column])
        for figure in ("requests", "input_tokens", "output_tokens"):
            usual = hour[f"usual_{figure}"] or {}
            mine = rows["usual"].get((*key, figure), {})
            for column in ("median", "low", "high", "weeks"):
                page.compare(f"usual.{column}", (*key, figure), mine.get(column), usual.get(column))


def compare_sums(of, document, summary, rows):
    mine = rows["weeks"][of]
    for column, value in document["sums"].items():
        if column == "busiest_hour_start":
            page.compare(f"weeks.{column}", of, mine[column], micros(value))
        elif column in mine and column != "week":
            page.compare(f"weeks.{column}", of, mine[column], value)
    page.compare("weeks.paid_replicas", of, mine["paid_replicas"], summary["paid_replicas"])
    ways = {"As paid": "as paid", "Every hour by the table": "by the table", "By the table, started 10 min ahead": "ahead", "Needed, without start-up": "bound"}
    for way in document["scaling"]:
        mine = rows["ways_to_run"][*of, ways[way["name"]]]
        for column in ("gpu_hours", "cost_usd"):
            page.compare(f"ways_to_run.{column}", of, mine[column], way[column])
        page.compare("ways_to_run.saved_ratio", of, 1 + mine["saved_ratio"], 1 + way["saved_ratio"])


def compare_shape(of, document, rows):
    shape = document["shape"]
    for quantile in shape["quantiles"]:
        mine = rows["quantiles"][*of, quantile["name"]]
        for column in ("this", "before", "ratio"):
            page.compare(f"quantiles.{column}", (*of, quantile["name"]), mine[column], quantile[column])
    for name in ("input", "output"):
        for column in ("ks", "wasserstein"):
            mine = rows["distances"].get((*of, f"{name}_tokens"), {})
            page.compare(f"distances.{column}", (*of, name), mine.get(column), (shape[name] or {}).get(column))
    mine = {key: row for key, row in rows["heat_map"].items() if key[:2] == of}
    page.compare("heat_map: cells", of, len(mine), len(shape["cells"]))
    for cell in shape["cells"]:
        row = mine[*of, round(2 * math.log2(cell["input_from"])), round(2 * math.log2(cell["output_from"]))]
        for column in ("input_from", "output_from", "requests", "tokens"):
            page.compare(f"heat_map.{column}", of, row[column], cell[column])


def compare_changes(of, document, summary, rows):
    for change in document["changes"] or []:
        if change["figure"] == "within_slo_ratio":  # the page takes this week's estimates for both weeks
            continue
        mine = rows["changes"].get((*of, change["figure"]))
        if mine:
            page.compare("changes.before", (*of, change["figure"]), mine["before"], change["before"])
            page.compare("changes.ratio", (*of, change["figure"]), 1 + mine["ratio"], 1 + change["ratio"])
    for figure in ("requests", "tokens"):
        growth = summary[f"{figure}_growth_ratio"]
        if growth is not None:
            page.compare("changes.ratio in summary.json", of, 1 + rows["changes"][*of, figure]["ratio"], 1 + growth)
    page.compare("classes: how many", of, sum(key[:2] == of for key in rows["classes"]), len(document["classes"]))
    for stored in document["classes"]:
        mine = rows["classes"][*of, stored["name"]]
        for column in ("requests", "input_tokens", "output_tokens", "requests_growth_ratio"):
            page.compare(f"classes.{column}", (*of, stored["name"]), mine[column], stored[column])


def compare_rest(of, document, summary, rows):
    minute = rows["fullest_minute"][of]
    page.compare("fullest_minute.requests", of, minute["requests"], document["fullest"]["requests"])
    page.compare("fullest_minute.minute_start", of, minute["minute_start"], micros(document["fullest"]["start"]))
    mine = sorted((row["from_at"], row["until_at"], row["hours"]) for key, row in rows["gaps"].items() if key[:2] == of)
    gaps = document["gaps"] or []
    page.compare("gaps: from, until, hours", of, str(mine), str(sorted((micros(g["from"]), micros(g["until"]), g["hours"]) for g in gaps)))
    copies = [row for key, row in rows["copies"].items() if key[:2] == of]
    page.compare("copies.failed", of, sum(row["failed"] for row in copies), summary["failed_requests"])
    for row in copies:
        note = next((n for n in document["notes"] if n.startswith(f"{row['copies']:,} requests of {row['source_name']} are in")), None)
        page.compare("copies.copies", of, row["copies"] > 0, note is not None)
    for source in document["sources"]:
        row = rows["copies"].get((*of, source["name"]))
        page.compare("copies: counted elsewhere", of, bool(row) and row["copies"] == row["requests"], source["duplicate_of"] != "")
    naive, told = rows["naive_forecast"][of], document["forecast"]
    if told["naive"]:
        page.compare("naive_forecast.peak_rate_per_s", of, naive["peak_rate_per_s"], told["naive"][0]["peak_rate_per_s"])
        page.compare("naive_forecast.mean_error", of, naive["mean_error"], told["naive_error"])
    for point in told["history"]:
        peak = max(row["peak_rate_per_s"] or 0 for key, row in rows["days"].items() if key[:2] == (of[0], point["week"]))
        page.compare("days.peak_rate_per_s of history", of, peak, point["peak_rate_per_s"])


def table():
    print(f"{'column':42} {'engines':>9} {'apart':>8}  {'page':>7} {'apart':>8}")
    for column in sorted(engines.columns.keys() | page.columns.keys()):
        cells = []
        for compared in (engines, page):
            kept = compared.columns.get(column)
            cells.append(f"{kept['n']:8,} {kept['apart']:8.1e}" if kept else f"{'':17}")
        print(f"{column:42} {'  '.join(cells)}")
    for column, kept in page.columns.items():
        if not kept["known"]:
            print(f"note: {column} is never anything but 0 or unknown on the pages, which proves nothing")
    for one, name in ((engines, "DuckDB and Spark"), (page, "question and page")):
        for wrong in one.wrong[:40]:
            print(f"WRONG, {name}: {wrong}")
        print(f"{name}: {len(one.columns)} columns, {sum(c['n'] for c in one.columns.values()):,} comparisons, {len(one.wrong)} wrong")


rows = {}
for name, ours, theirs in answers():
    compare_engines(name, ours, theirs)
    if name not in ("requests", "silences", "covered", "reaches"):
        rows[name] = keyed(name, ours)
compare_page(rows)
table()
sys.exit(bool(engines.wrong or page.wrong))
