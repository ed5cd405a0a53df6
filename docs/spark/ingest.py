"""Takes traces into a lake by Spark: what `tidemark ingest` makes of them, for files that are too large for one machine.

    spark-submit ingest.py --lake s3a://bucket/lake gateway=s3a://bucket/raw/gateway-2026-11.csv kv=s3a://bucket/raw/kv.jsonl

    Azure      CSV with a header: TIMESTAMP,ContextTokens,GeneratedTokens in any order; other columns are passed over
    Mooncake   JSON lines: timestamp (ms since the trace began), input_length, output_length, hash_ids, session_id

Each file is a source. Its rows go to LAKE/staging.arrivals/source_id=N with the columns of the relation, in order of time, and the lines that are not taken
in to LAKE/raw.rejects/source_id=N with line, column and reason, never with text. A file may be compressed (.gz: then one task reads it).

Every line is read by the same rules as by the program: the reasons, and what is asked first, are those of ingest/traces/azure.go and mooncake.go.
"""

import argparse
import decimal
import json
import math
import pathlib
import re
import sys

# The reasons of rejects, as in ingest/read/rejects.go.
NOT_AN_INTEGER, NOT_A_TIME, NOT_A_NUMBER = "not an integer", "not a time", "not a number"
NEGATIVE, OUT_OF_RANGE, TOO_LARGE, MISSING = "negative", "out of range", "too large", "missing"
TOO_MANY_COLUMNS, OPEN_QUOTE, STRAY_QUOTE = "more columns than the header", "a quote is not closed on its line", "a quote where none can be"
TOO_LONG, NOT_JSON, TOO_FEW_BLOCKS = "line is too long", "not a JSON object", "blocks cover less than the prompt"
KEY_TWICE = "the key is there twice"

LINE_LIMIT = 1 << 20  # bytes
MOST_TOKENS = 2**31 - 1
MOST_REJECTS = 1_000_000
FIRST_LINES, FIRST_BYTES = 122_880, 8 << 20  # what is looked at before any row is read
BLOCK_SIZES = [512, 16, 32, 64, 128, 256, 1024]  # tokens; of two that fit equally well, the first


class Problem(Exception):
    """Why a line is not taken in: column, or None, and reason."""


def tokens(column, text):
    digits = re.match("[0-9]+", text)
    if digits is None:
        raise Problem(column, MISSING if text == "" else NEGATIVE if re.match("-[0-9]", text) else NOT_AN_INTEGER)
    if len(digits[0]) > 19 or int(digits[0]) > MOST_TOKENS:
        raise Problem(column, TOO_LARGE)
    if digits[0] != text:
        raise Problem(column, NOT_AN_INTEGER)
    return int(text)


# Azure.

ROLES = {"timestamp": "instant", "contexttokens": "input", "generatedtokens": "output"}
DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
CLOCK = re.compile(r"[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:(Z)|([+-])([0-9]{2})(?::?([0-9]{2}))?)?")
midnights = {}  # Unix seconds of the days that were read


def instant(column, text):
    """Unix nanoseconds, and whether a zone was given."""
    if len(text) < 19:
        raise Problem(column, NOT_A_TIME)
    if text[:10] not in midnights:
        day = DAY.fullmatch(text[:10])
        if day is None:
            raise Problem(column, NOT_A_TIME)
        midnights[text[:10]] = midnight(column, *map(int, day.groups()))
    clock = CLOCK.fullmatch(text, 10)
    if clock is None:
        raise Problem(column, NOT_A_TIME)
    hour, minute, second, fraction, utc, sign, hours, minutes = clock.groups()
    hour, minute, second, hours, minutes = int(hour), int(minute), int(second), int(hours or 0), int(minutes or 0)
    if hour > 23 or minute > 59 or second > 59 or hours > 18 or minutes > 59:
        raise Problem(column, NOT_A_TIME)
    east = (hours * 3600 + minutes * 60) * (-1 if sign == "-" else 1)
    at = midnights[text[:10]] + hour * 3600 + minute * 60 + second - east
    return at * 1_000_000_000 + int((fraction or "")[:9].ljust(9, "0")), bool(utc or sign)


def midnight(column, year, month, day):
    """Days since 1970 in the Gregorian calendar, in seconds."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]:
        raise Problem(column, NOT_A_TIME)
    if not 1700 <= year <= 2200:
        raise Problem(column, OUT_OF_RANGE)
    y, m = (year - 1, month + 12) if month <= 2 else (year, month)
    return (365 * y + y // 4 - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + day - 719_469) * 86_400


QUOTED = re.compile(r'[ \t]*"((?:[^"]|"")*+)"[ \t]*(?=,|$)')


def fields(line, names):
    """The fields of a CSV line, one after the other. Names are of the columns, for a problem."""
    if '"' not in line:
        yield from line.split(",")
        return
    at = 0
    while at <= len(line):
        column = names.pop(0) if names else None
        if not line[at:].lstrip(" \t").startswith('"'):
            field = line[at:].split(",", 1)[0]
            if '"' in field:
                raise Problem(column, STRAY_QUOTE)
            yield field
            at += len(field) + 1
            continue
        quoted = QUOTED.match(line, at)
        if quoted is None:
            is_closed = re.compile(r'[ \t]*"(?:[^"]|"")*+"').match(line, at)
            raise Problem(column, STRAY_QUOTE if is_closed else OPEN_QUOTE)
        yield quoted[1]
        at = quoted.end() + 1


class Azure:
    def __init__(self, header, path):
        self.names = [name.strip().replace('""', '"') for name in fields(header, [])]
        self.roles = [ROLES.get(name.lower()) for name in self.names]
        for role in ROLES.values():
            if self.roles.count(role) != 1:
                raise SystemExit(f"ingest: error: {path}: the header has {self.roles.count(role)} columns of {role}, and needs one")
        self.origin = None

    def look(self, lines):
        """Arrivals are counted from the first row that can be read, in whole microseconds."""
        for line in lines:
            try:
                self.origin = self.read(line)["arrival_ns"] // 1000 * 1000
                return
            except Problem:
                continue

    def read(self, line):
        row, places = {}, fields(line, list(self.names))
        for name, role in zip(self.names, self.roles):
            field = next(places, None)
            if field is None:
                raise Problem(name, MISSING)
            if role == "instant":
                row["arrival_ns"], _ = instant(name, field.strip(" \t"))
            elif role:
                row[f"{role}_tokens"] = tokens(name, field.strip(" \t"))
        if next(places, None) is not None:
            raise Problem(None, TOO_MANY_COLUMNS)
        if self.origin is not None:
            row["arrival_ns"] -= self.origin
        return row


# Mooncake.


class Number(str):
    """A number as the line has it."""


class Object(dict):
    """A JSON object, and the first key that it has twice: it may mean either value."""

    def __init__(self, pairs):
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.twice = next((key for at, key in enumerate(keys) if key in keys[:at]), None)


def no_constant(word):
    raise ValueError(word)  # NaN and Infinity are no JSON


def milliseconds(value):
    """A number of milliseconds in nanoseconds, exactly where it has no more than nine digits behind the point."""
    if value is None:
        raise Problem("timestamp", MISSING)
    if not isinstance(value, Number):
        raise Problem("timestamp", NOT_A_NUMBER)
    plain = re.fullmatch(r"([0-9]+)(?:\.([0-9]{1,9}))?", value)
    if plain and int(plain[1]) < (2**63 - 1) // 1_000_000:
        return int(plain[1]) * 1_000_000 + (int((plain[2] or "").ljust(9, "0")) + 500) // 1000
    parsed = float(value)
    if parsed < 0:
        raise Problem("timestamp", NEGATIVE)
    scaled = parsed * 1e6
    if scaled >= 2**63 - 1:
        raise Problem("timestamp", OUT_OF_RANGE)
    return math.floor(scaled) + (scaled - math.floor(scaled) >= 0.5)


def length(column, value):
    if value is None:
        raise Problem(column, MISSING)
    return tokens(column, value if isinstance(value, Number) else '"')


def block_ids(value):
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(id, str) and re.fullmatch("[0-9]+", id) and int(id) < 2**64 for id in value):
        raise Problem("hash_ids", NOT_AN_INTEGER)
    return [int(id) for id in value]


class Mooncake:
    def __init__(self, path):
        self.path, self.block_tokens, self.has_blocks, self.has_sessions, self.origin = path, 0, True, True, None

    def look(self, lines):
        """Blocks have the size that fits most rows; where none fits half of at least twenty, ids stand for no fixed number of tokens."""
        fits, with_blocks, with_sessions = dict.fromkeys(BLOCK_SIZES, 0), 0, 0
        for line in lines:
            try:
                row = self.read(line)
            except Problem:
                continue
            if row["arrival_ns"] >= 1e15:  # seconds since 1970, read as milliseconds, or more
                raise SystemExit(f"ingest: error: {self.path}: its stamps are Unix times; take it in with tidemark ingest")
            count = len(row["blocks"])
            with_blocks += count > 0
            with_sessions += row["session_id"] is not None
            for size in BLOCK_SIZES:
                fits[size] += count > 0 and (count - 1) * size < row["input_tokens"] <= count * size
        best = max(BLOCK_SIZES, key=lambda size: fits[size])
        self.block_tokens = 0 if with_blocks >= 20 and 2 * fits[best] < with_blocks else best
        self.has_blocks, self.has_sessions = with_blocks > 0, with_sessions > 0

    def read(self, line):
        try:
            said = json.loads(line, parse_int=Number, parse_float=Number, parse_constant=no_constant, object_pairs_hook=Object)
        except (ValueError, RecursionError):
            raise Problem(None, NOT_JSON) from None
        if not isinstance(said, dict):
            raise Problem(None, NOT_JSON)
        if said.twice is not None:
            raise Problem(said.twice if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_ .-]{0,40}", said.twice) else None, KEY_TWICE)
        session = said.get("session_id")
        row = {
            "arrival_ns": milliseconds(said.get("timestamp")),
            "input_tokens": length("input_length", said.get("input_length")),
            "output_tokens": length("output_length", said.get("output_length")),
            "blocks": block_ids(said.get("hash_ids")),
            "session_id": str(session) if isinstance(session, str) else None,
        }
        if row["blocks"] and self.block_tokens and len(row["blocks"]) * self.block_tokens < row["input_tokens"]:
            raise Problem("hash_ids", TOO_FEW_BLOCKS)
        return row


# The job.

READ = "line bigint, arrival_ns bigint, input_tokens bigint, output_tokens bigint, blocks array<decimal(20,0)>, session_id string, column_name string, reason string"


def numbered(spark, path):
    """Lines with their numbers from 1. Spark cuts a file where it likes: of each piece the lines are counted first."""
    lines = spark.read.option("lineSep", "\n").text(path).selectExpr(
        "cast(value as binary) as text", "_metadata.file_block_start as piece", "monotonically_increasing_id() as id"
    )  # fmt: skip
    lines.createOrReplaceTempView("lines")
    pieces = spark.sql("select piece, min(id) as first_id, count(*) as held from lines group by piece order by piece").collect()
    before, rows = 0, []
    for piece in pieces:
        rows.append((piece.piece, piece.first_id, before))
        before += piece.held
    spark.createDataFrame(rows, "piece bigint, first_id bigint, lines_before bigint").createOrReplaceTempView("pieces")
    return spark.sql("select /*+ broadcast(pieces) */ 1 + lines_before + id - first_id as line, text from lines inner join pieces using (piece)")


def plain(text):
    """A line as the program reads it: without the carriage return. None where it is blank."""
    text = text.removesuffix(b"\r")
    return text if any(c > 32 for c in text) else None


def first_lines(lines):
    """What is looked at first: as much as the program reads before any row."""
    held, taken = 0, []
    for row in lines.where(f"line <= {FIRST_LINES}").orderBy("line").toLocalIterator():
        held += len(row.text) + 1
        if held > FIRST_BYTES and taken:
            break
        taken.append((row.line, bytes(row.text)))
    return taken


def open_trace(path, lines):
    """The reader of a file, and the number of its header's line: 0 without."""
    taken = first_lines(lines)
    if taken:
        taken[0] = taken[0][0], taken[0][1].removeprefix(b"\xef\xbb\xbf")
    taken = [(line, decoded(plain(text))) for line, text in taken if plain(text) is not None and len(plain(text)) <= LINE_LIMIT]
    if not taken:
        raise SystemExit(f"ingest: error: {path}: has no line")
    if taken[0][1].lstrip().startswith("{"):
        reader, header = Mooncake(path), 0
    else:
        header = taken[0][0]
        reader = Azure(taken[0][1].strip(), path)
    reader.look(text for line, text in taken if line > header)
    return reader, header


def decoded(text):
    return text.decode("utf-8", "replace")


def read_with(reader, header):
    """A function for mapInArrow: rows and rejects of batches of lines."""
    import pyarrow

    shape = pyarrow.schema([
        ("line", pyarrow.int64()), ("arrival_ns", pyarrow.int64()), ("input_tokens", pyarrow.int64()), ("output_tokens", pyarrow.int64()),
        ("blocks", pyarrow.list_(pyarrow.decimal128(20, 0))), ("session_id", pyarrow.string()), ("column_name", pyarrow.string()), ("reason", pyarrow.string()),
    ])  # fmt: skip

    def one(line, text):
        text = plain(text.removeprefix(b"\xef\xbb\xbf") if line == 1 else text)
        if text is None or line <= header:
            return None
        if len(text) > LINE_LIMIT:
            return {"line": line, "reason": TOO_LONG}
        try:
            row = {"line": line, **reader.read(decoded(text))}
        except Problem as problem:
            return {"line": line, "column_name": problem.args[0], "reason": problem.args[1]}
        if "blocks" in row:
            row["blocks"] = [decimal.Decimal(id) for id in row["blocks"]] if reader.has_blocks and row["blocks"] else None
            row["session_id"] = row["session_id"] if reader.has_sessions else None
        return row

    def batches(all_lines):
        for batch in all_lines:
            rows = [one(line, text) for line, text in zip(batch.column("line").to_pylist(), batch.column("text").to_pylist())]
            yield pyarrow.RecordBatch.from_pylist([row for row in rows if row], schema=shape)

    return batches


# The columns of staging.arrivals, in order. Instants are counted from the origin in whole microseconds. Rows are numbered within slices of
# time, of which each has what came before it: no task sees all rows.
ARRIVALS = """
with sliced as (
    select *, (arrival_ns - {first_ns}) div {slice_ns} as slice
    from rows
),

slices as (
    select slice, sum(count(*)) over (order by slice) - count(*) as rows_before
    from sliced
    group by slice
)

select /*+ broadcast(slices) */
    cast({source_id} as bigint) as source_id,
    {source_name} as source_name,
    rows_before + row_number() over (partition by slice order by arrival_ns, line) - 1 as seq,
    (arrival_ns - {first_ns}) / 1e9D as offset_s,
    {arrival_at} as arrival_at,
    input_tokens,
    output_tokens,
    session_id,
    cast(null as int) as turn,
    cast(null as string) as class,
    blocks,
    cast({block_tokens} as int) as block_tokens,
    cast(null as double) as think_s,
    cast(null as string) as parent_session_id,
    cast(null as int) as parent_turn,
    cast(null as string) as model,
    cast(null as boolean) as is_failed,
    cast(null as double) as ttft_s,
    cast(null as double) as e2e_s,
    cast(null as bigint) as cached_tokens,
    cast(null as string) as tenant
from sliced
inner join slices using (slice)
"""

ROWS_PER_FILE, ROWS_PER_SLICE = 5_000_000, 1_000_000


def ingest(spark, path, lake, source_id, name, most_rejected):
    """Takes in one file. Returns how many rows were kept and rejected."""
    from pyspark import StorageLevel

    lines = numbered(spark, path)
    reader, header = open_trace(path, lines)
    read = lines.mapInArrow(read_with(reader, header), READ).persist(StorageLevel.DISK_ONLY)
    try:
        sums = read.selectExpr(
            "count(arrival_ns) as kept", "count(reason) as rejected", "min(arrival_ns) as first_ns", "max(arrival_ns) as last_ns"
        ).first()  # fmt: skip
        if sums.rejected > MOST_REJECTS or sums.rejected > most_rejected * (sums.kept + sums.rejected) or sums.kept == 0:
            raise SystemExit(f"ingest: error: {path}: {sums.rejected} lines of {sums.kept + sums.rejected} were not taken in")
        read.where("reason is null").createOrReplaceTempView("rows")
        slices = max(1, sums.kept // ROWS_PER_SLICE)
        arrivals = spark.sql(ARRIVALS.format(
            first_ns=sums.first_ns, slice_ns=(sums.last_ns - sums.first_ns) // slices + 1, source_id=source_id, source_name="'" + name.replace("'", "\\'") + "'",
            arrival_at="cast(null as timestamp)" if reader.origin is None else f"timestamp_micros({reader.origin // 1000} + arrival_ns div 1000)",
            block_tokens=reader.block_tokens or "null" if isinstance(reader, Mooncake) and reader.has_blocks else "null",
        ))  # fmt: skip
        files = max(1, -(-sums.kept // ROWS_PER_FILE))
        to = arrivals.repartitionByRange(files, "seq").sortWithinPartitions("seq").write.mode("overwrite").option("compression", "zstd")
        to.parquet(f"{lake}/staging.arrivals/source_id={source_id}")
        rejects = read.where("reason is not null").selectExpr(f"cast({source_id} as bigint) as source_id", "line", "column_name", "reason")
        rejects.coalesce(1).sortWithinPartitions("line").write.mode("overwrite").parquet(f"{lake}/raw.rejects/source_id={source_id}")
        return sums.kept, sums.rejected
    finally:
        read.unpersist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+", help="as it is, or name=file; its name is that of the file otherwise")
    parser.add_argument("--lake", required=True, help="folder or bucket that the relations go to")
    parser.add_argument("--first-source", type=int, default=1, help="number of the first file's source")
    parser.add_argument("--max-rejected", type=float, default=0.001, help="refuse a file with a larger share of rejected rows")
    args = parser.parse_args()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("tidemark ingest").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # INT96, its default, has no zone
    for source_id, said in enumerate(args.file, args.first_source):
        name, _, path = said.rpartition("=")
        name = name or pathlib.PurePosixPath(path).name.split(".")[0]
        kept, rejected = ingest(spark, path, args.lake, source_id, name, args.max_rejected)
        print(f"{name}: {kept} rows, {rejected} rejected", file=sys.stderr)


if __name__ == "__main__":
    main()
