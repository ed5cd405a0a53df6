"""Works out anew what the Monday pages of some services say, from the published lake alone, and compares.

DuckDB reads the Parquet of staging.arrivals; the rest is plain Python on single requests, by what docs/monday.md and the headers of
marts.service_hours and marts.service_weeks say each figure is. Of an estimate (replicas needed, headroom, accepted, cost of a million) the stored
capacity of an hour and the stored curve of misses are taken as they are, and the arithmetic is done again.

The folder to look at is the first argument; the services stand on stdin. One line is printed for each figure: how often it was compared, and the place
where page and recomputed are farthest apart.
"""

import bisect
import collections
import datetime
import html.parser
import json
import math
import re
import statistics
import sys
import zoneinfo

import duckdb

UTC = datetime.timezone.utc
HOUR = 3_600_000_000  # microseconds, as all instants here
FOLDER = sys.argv[1]
lake = duckdb.connect()
warehouse = duckdb.connect(f"{FOLDER}/tidemark.published/latest.duckdb", read_only=True)

Request = collections.namedtuple("Request", "at input output cls model failed")


class Comparison:
    """What was compared, by figure. A figure of a page that is written as text is right if its last digit is."""

    def __init__(self):
        self.figures = {}

    def compare(self, figure, where, page, mine, off=1e-9):
        if page is None or mine is None:
            apart = 0.0 if page is mine else math.inf
        elif isinstance(mine, (str, bool)) or isinstance(page, (str, bool)):
            apart = 0.0 if page == mine else math.inf
        else:
            apart = 0.0 if page == mine else abs(page - mine) / max(abs(page), abs(mine))
        kept = self.figures.setdefault(figure, {"n": 0, "known": 0, "apart": -1.0, "wrong": []})
        kept["n"] += 1
        kept["known"] += mine not in (None, 0, "")
        if apart > kept["apart"]:
            kept.update(apart=apart, page=page, mine=mine, where=where)
        if not apart <= off:
            kept["wrong"].append((where, page, mine))

    def text(self, figure, where, page, mine, write):
        """A figure of the page is the text that mine is written as."""
        self.compare(figure, where, page, "–" if mine is None else write(mine))

    def table(self):
        def short(value):
            return f"{value:.9g}" if isinstance(value, float) else str(value)

        print(f"{'figure':42} {'compared':>8}  {'page':>22} {'recomputed':>22}  {'apart':>8}  where")
        for name, f in self.figures.items():
            print(f"{name:42} {f['n']:8}  {short(f['page']):>22} {short(f['mine']):>22}  {f['apart']:8.1e}  {f['where']}")
        compared = sum(f["n"] for f in self.figures.values())
        wrong = [(name, *w) for name, f in self.figures.items() for w in f["wrong"]]
        idle = [name for name, f in self.figures.items() if not f["known"]]
        for name, where, page, mine in wrong[:60]:
            print(f"WRONG: {name}, {where}: the page has {short(page)}, recomputed is {short(mine)}")
        for name in idle:
            print(f"note: {name} is never anything but 0 or unknown, which proves nothing")
        print(f"{len(self.figures)} figures, {compared} comparisons, {len(wrong)} wrong")
        return not wrong


compared = Comparison()


# The calendar.


def instant(local):
    return round(local.timestamp()) * 1_000_000


def iso_week(name, zone):
    """Begin and end of an ISO week of the zone, and its hours: (begin, day, hour of the day)."""
    year, number = int(name[:4]), int(name[6:])

    def midnight(day):
        return instant(datetime.datetime.combine(day, datetime.time(), zone))

    monday = datetime.date.fromisocalendar(year, number, 1)
    begin, end = midnight(monday), midnight(monday + datetime.timedelta(7))
    hours = []
    for at in range(begin, end, HOUR):
        local = datetime.datetime.fromtimestamp(at / 1e6, UTC).astimezone(zone)
        hours.append((at, local.weekday(), local.hour, local.isoformat(sep=" ", timespec="minutes")))
    return begin, end, hours


# The traffic.


def read_source(name):
    rows = lake.execute(
        """select epoch_us(arrival_at), input_tokens, output_tokens, class, model, coalesce(is_failed, false)
        from read_parquet(? || '/tidemark.published/lake/staging.arrivals/**/*.parquet') where source_name = ? order by all""",
        [FOLDER, name],
    ).fetchall()
    return [Request(*row) for row in rows]


def silences(rows):
    """Gaps of at least ten seconds that are also longer than 5 ln(n) mean gaps; of more than three those of at least a minute."""
    gaps = [(b.at, a.at) for b, a in zip(rows, rows[1:])]
    if len(gaps) < 10:
        return []
    least = max(10e6, 5 * math.log(len(gaps)) * (rows[-1].at - rows[0].at) / len(gaps))
    long = [g for g in gaps if g[1] - g[0] >= least]
    return long if len(long) <= 3 else [g for g in long if g[1] - g[0] >= 60e6]


class Source:
    def __init__(self, traffic, zone):
        self.name, rows = traffic["source"], read_source(traffic["source"])
        self.rows = [r for r in rows if traffic.get("class") in (None, r.cls)]
        first, last = rows[0].at, rows[-1].at
        self.quiet = []
        if traffic["covers"] == "day":
            days = [datetime.datetime.fromtimestamp(at / 1e6, zone).date() for at in (first, last)]
            self.begin = instant(datetime.datetime.combine(days[0], datetime.time(), zone))
            self.end = instant(datetime.datetime.combine(days[1] + datetime.timedelta(1), datetime.time(), zone))
        else:
            self.begin, self.end, self.quiet = first, last + 1, silences(rows)

    def covers(self, hour):
        """An hour without a request is covered if it lies within what the source is about, and in no silence."""
        inside = self.begin <= hour and hour + HOUR <= self.end
        return inside and not any(a <= hour and hour + HOUR <= b for a, b in self.quiet)


def counted_once(sources):
    """All requests; of what two sources have in common, those of the first."""
    seen, all_rows, copies = collections.Counter(), [], collections.Counter()
    for s in sources:
        own = collections.Counter()
        for r in s.rows:
            own[r[:3]] += 1
            if own[r[:3]] <= seen[r[:3]]:
                copies[s.name, r.at] += 1
            else:
                all_rows.append(r)
        seen |= own
    return sorted(all_rows), copies


def quantile(values, share):
    values = sorted(values)
    if not values:
        return None
    place = (len(values) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def between(rows, begin, end):
    return rows[bisect.bisect_left(rows, (begin,)) : bisect.bisect_left(rows, (end,))]


def measured(rows):
    return [r for r in rows if not r.failed and r.output > 0]


class Hour:
    """What is counted of an hour."""

    def __init__(self, place, rows, sources, paid):
        self.at, self.day, self.of, self.local = place
        self.rows, self.paid = rows, paid
        self.missing = not rows and not any(s.covers(self.at) for s in sources)
        self.bins = [len(between(rows, b, b + HOUR // 12)) for b in range(self.at, self.at + HOUR, HOUR // 12)]

    def counted(self):
        """The columns of marts.service_hours that are counted."""
        out = {"local_hour": self.local, "is_missing": self.missing, "paid_replicas": self.paid}
        if self.missing:
            return out | dict.fromkeys(COUNTED)
        lengths = {"input": [r.input for r in measured(self.rows)], "output": [r.output for r in measured(self.rows)]}
        out |= {"requests": len(self.rows), "rate_per_s": len(self.rows) / 3600, "peak_rate_per_s": max(self.bins) / 300}
        for name, values in lengths.items():
            out[f"{name}_tokens"] = sum(getattr(r, name) for r in self.rows)
            out[f"p50_{name}_tokens"] = quantile(values, 0.5)
            out[f"p99_{name}_tokens"] = quantile(values, 0.99) if len(values) >= 100 else None
        out["burst_ratio"] = statistics.variance(self.bins) / statistics.mean(self.bins) if self.rows else None
        return out


COUNTED = [
    "requests", "rate_per_s", "peak_rate_per_s", "input_tokens", "output_tokens", "p50_input_tokens", "p99_input_tokens", "p50_output_tokens",
    "p99_output_tokens", "burst_ratio",
]  # fmt: skip


class Week:
    """One week of a service, with its capacities as they are stored."""

    def __init__(self, service, name):
        self.service, self.name = service, name
        self.begin, self.end, places = iso_week(name, service.zone)
        self.rows = between(service.rows, self.begin, self.end)
        self.hours = [Hour(p, between(self.rows, p[0], p[0] + HOUR), service.sources, service.paid_at(p[0])) for p in places]
        self.covered = [h for h in self.hours if not h.missing]
        for h in self.hours:
            h.figures = h.counted()
        self.stored = rows_of("from marts.service_hours where service = ? and week = ? order by hour_start", service.name, name)
        self.document = json.loads(
            warehouse.execute("select document::varchar from staging.service_weeks where service = ? and week = ?", [service.name, name]).fetchone()[0]
        )
        for h, stored in zip(self.hours, self.stored):
            h.rates = [stored[c] for c in ("low_replica_rate_per_s", "replica_rate_per_s", "high_replica_rate_per_s")]
            h.needed = [None] * 3  # at the high end of the capacity, in the middle, at the low end
            if not h.missing:
                fleets = self.document["basis"]["fleets"]
                h.needed = [needed(h.figures["peak_rate_per_s"], rate, fleets) for rate in reversed(h.rates)]
                h.gain = gain(fleets, h.paid)

    def by_clock(self):
        """Covered hours by the local clock; the second one of an hour that comes twice is another."""
        out = {}
        for h in self.hours:
            out[h.day, h.of, (h.day, h.of, 0) in out] = h
        return {clock: h for clock, h in out.items() if not h.missing}


def gain(fleets, replicas):
    """What one replica takes in a fleet of that size, by straight lines of ln over ln between the sizes that were rehearsed."""
    sizes = {f["replicas"]: f["replica_rate_ratio"] for f in fleets or []}
    if not sizes or replicas < 1:
        return 1
    replicas = min(replicas, max(sizes))
    below, above = max(n for n in sizes if n <= replicas), min(n for n in sizes if n >= replicas)
    if below == above:
        return sizes[below]
    along = math.log(replicas / below) / math.log(above / below)
    return math.exp((1 - along) * math.log(sizes[below]) + along * math.log(sizes[above]))


def needed(peak, rate, fleets):
    if peak == 0:
        return 0
    if rate is None:
        return None
    n = 1
    while n * gain(fleets, n) * rate < peak * (1 - 1e-9):
        n += 1
    return n


def rows_of(query, *args):
    answer = warehouse.execute(query, list(args))
    names = [d[0] for d in answer.description]
    return [dict(zip(names, row)) for row in answer.fetchall()]


class Service:
    def __init__(self, said):
        self.said, self.name, self.zone = said, said["service"], zoneinfo.ZoneInfo(said["zone"])
        self.gpus, self.price = said["gpus_per_replica"], said["usd_per_gpu_hour"]
        self.sources = [Source(t, self.zone) for t in said["traffic"]]
        self.rows, self.copies = counted_once(self.sources)
        self.weeks = [Week(self, name) for name in said["weeks"]]

    def paid_at(self, at):
        paid = self.said["replicas"][0]["replicas"]
        for r in self.said["replicas"]:
            if instant(datetime.datetime.fromisoformat(r["from"]).replace(tzinfo=self.zone)) <= at:
                paid = r["replicas"]
        return paid


# What a week comes to.


def missed_at(curve, rate):
    """The curve of misses by straight lines, from nothing at rate 0; beyond its end to all at one and a half times that rate. Low, middle, high."""
    points = [(0.0, (0.0, 0.0, 0.0))] + [(p["rate_per_s"], (p["low_missed_ratio"], p["missed_ratio"], p["high_missed_ratio"])) for p in curve]
    if rate >= points[-1][0]:
        within = max(0, (1.5 - rate / points[-1][0]) / 0.5)
        return tuple(1 - (1 - missed) * within for missed in points[-1][1])
    for (a, low), (b, high) in zip(points, points[1:]):
        if a <= rate <= b:
            return tuple(x + (rate - a) / (b - a) * (y - x) for x, y in zip(low, high))


def within(hour, basis):
    """Shares of an hour within the SLO, low, middle and high, at its busiest five minutes; None: not known."""
    if not hour.figures["requests"]:
        return 1.0, 1.0, 1.0
    if hour.rates[1] is None:
        return None
    if not hour.paid:
        return 0.0, 0.0, 0.0
    load = hour.figures["peak_rate_per_s"] / hour.paid / hour.gain
    if not basis["curve"]:
        return min(1, hour.rates[0] / load), min(1, hour.rates[1] / load), min(1, hour.rates[1] / load)
    low, middle, high = missed_at(basis["curve"], load / hour.rates[1] * basis["replica_rate_per_s"])
    return 1 - high, 1 - middle, 1 - low


def sums_of(week, basis):
    """The columns of marts.service_weeks."""
    s, covered = week.service, week.covered
    out = {"hours": len(week.hours), "missing_hours": len(week.hours) - len(covered)}
    for column in ("requests", "input_tokens", "output_tokens"):
        out[column] = sum(h.figures[column] for h in covered)
    loaded = [h for h in covered if h.rates[1] is not None and h.figures["requests"]]
    busiest = max(loaded, key=lambda h: (h.needed[1], h.figures["peak_rate_per_s"], -h.at))
    peak = busiest.figures["peak_rate_per_s"]
    out |= {"busiest_hour_start": busiest.at, "peak_rate_per_s": peak}
    for name, rate in zip(("low_headroom_ratio", "headroom_ratio", "high_headroom_ratio"), busiest.rates):
        out[name] = busiest.paid * busiest.gain * rate / peak - 1
    out["gpu_hours_needed"] = s.gpus * sum(h.needed[1] for h in covered if h.needed[1] is not None)
    out["gpu_hours_paid"] = s.gpus * sum(h.paid for h in week.hours)
    out["gpu_hours_paid_covered"] = s.gpus * sum(h.paid for h in covered)
    out["cost_usd"] = out["gpu_hours_paid"] * s.price
    shares = [(h, within(h, basis)) for h in covered]
    shares = [(h, w) for h, w in shares if w is not None]
    requests = sum(h.figures["requests"] for h, _ in shares)
    ends = [sum(h.figures["requests"] * w[i] for h, w in shares) / requests for i in range(3)]
    out |= dict(zip(("low_within_slo_ratio", "within_slo_ratio", "high_within_slo_ratio"), ends))
    out |= dict.fromkeys(("accepted_output_tokens", "usd_per_million_accepted", "low_usd_per_million_accepted", "high_usd_per_million_accepted"))
    if ends[1] >= 1 - s.said["allowed"]:
        accepted = out["accepted_output_tokens"] = sum(h.figures["output_tokens"] * w[1] for h, w in shares)
        million = out["usd_per_million_accepted"] = round(out["gpu_hours_paid_covered"] * s.price / accepted * 1e6, 6)
        out["low_usd_per_million_accepted"], out["high_usd_per_million_accepted"] = round(million * ends[1] / ends[2], 6), round(million * ends[1] / ends[0], 6)
    out["is_accepted_predicted"] = True
    return out


def changes_of(this, last):
    """Of each figure last week's, and this week's over it less 1, over the hours that both cover."""
    now, before = this.by_clock(), last.by_clock()
    pairs = [(h, before[clock]) for clock, h in now.items() if clock in before]

    def added(value, join=sum, pairs=pairs):
        known = [(value(a), value(b)) for a, b in pairs]
        known = [k for k in known if None not in k]
        return join(a for a, _ in known), join(b for _, b in known)

    def figure(name):
        return lambda h: h.figures[name]

    both = {name: added(figure(name)) for name in ("requests", "input_tokens", "output_tokens")}
    both["tokens"] = tuple(a + b for a, b in zip(both["input_tokens"], both["output_tokens"]))
    # The peak of the busiest hour: of most need, then of the greatest peak.
    both["peak_rate_per_s"] = tuple(max((-1 if h.needed[1] is None else h.needed[1], h.figures["peak_rate_per_s"]) for h in hours)[1] for hours in zip(*pairs))
    both["gpu_hours_needed"] = added(lambda h: None if h.needed[1] is None else this.service.gpus * h.needed[1])
    # The share within the SLO of last week is by this week's estimates, which its own page does not have.
    classes = {name: added(lambda h, name=name: sum(name == class_of(r) for r in h.rows)) for name in {class_of(r) for r in this.rows}}
    return {name: (b, a / b - 1) for name, (a, b) in both.items()}, {name: a / b - 1 if b else None for name, (a, b) in classes.items()}


def class_of(request):
    return request.cls or request.model or ""


def naive_peak(weeks, hours):
    """The greatest of some hours of the week, each as it was when it was last seen."""
    seen = {}
    for w in weeks:
        for h in w.covered:
            seen[h.day, h.of] = h.figures["peak_rate_per_s"]
    return max(seen.get(clock, 0) for clock in hours)


def naive_of(weeks):
    """The naive forecast of next week, and its mean error one to four weeks ahead on the weeks known. Errors h weeks ahead overlap: each counts 1/h."""
    year, number = map(int, weeks[-1].name.split("-W"))
    _, _, ahead = iso_week(f"{year}-W{number + 1:02}", weeks[-1].service.zone)
    errors, weights = [], []
    for known in range(2, len(weeks)):
        for h, week in enumerate(weeks[known:known + 4], start=1):
            came = max(hour.figures["peak_rate_per_s"] for hour in week.covered)
            guess = naive_peak(weeks[:known], {(hour.day, hour.of) for hour in week.covered})
            errors.append(abs(math.log(came / guess)) / h)
            weights.append(1 / h)
    return naive_peak(weeks, {(day, of) for _, day, of, _ in ahead}), sum(errors) / sum(weights) if errors else None


def distances(a, b):
    """KS, and Wasserstein on ln tokens, of two lists of lengths."""
    a, b = sorted(a), sorted(b)
    ks = area = 0.0
    at = sorted(set(a + b))
    for x, after in zip(at, at[1:] + at[-1:]):
        gap = abs(bisect.bisect_right(a, x) / len(a) - bisect.bisect_right(b, x) / len(b))
        ks, area = max(ks, gap), area + gap * math.log(after / x)
    return ks, area


def ways_to_run(week):
    """GPU-hours as paid, by the table of hours, with replicas started ten minutes ahead, and by the middle of the need."""
    table = [h.paid if h.needed[2] is None else max(1, h.needed[2]) for h in week.hours]
    middle = [h.paid if h.needed[2] is None else max(1, h.needed[1]) for h in week.hours]
    after = table[1:] + table[-1:]
    ahead = [(50 * a + 10 * max(a, b)) / 60 for a, b in zip(table, after)]
    return [week.service.gpus * sum(way) for way in ([h.paid for h in week.hours], table, ahead, middle)]


# What the page says.


class Page(html.parser.HTMLParser):
    """Tiles and tables by their markup: a tile is its label, value, basis and last week's; a table its heads and rows, by what its caption begins with."""

    def __init__(self, path):
        super().__init__()
        self.tiles, self.tables, self.facts = [], [], {}
        self.into, self.terms = None, []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        classes = (dict(attrs).get("class") or "").split()
        if tag == "dl":
            self.terms = []
        elif tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "caption":
            self.into = self.tables[-1]["caption"] = []
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.into = []
            self.tables[-1]["rows"][-1].append(self.into)
        elif tag in ("dt", "dd"):
            if tag == "dt":
                self.terms.append([])
            self.into = []
            self.terms[-1].append(self.into)
        elif tag == "span" and "vh" in classes and self.into is not None:
            self.into, self.kept = None, self.into
        elif tag == "small" and self.into is not None:
            self.into.append("|")

    def handle_endtag(self, tag):
        if tag in ("td", "th", "caption", "dt", "dd"):
            self.into = None
        elif tag == "span" and self.into is None and getattr(self, "kept", None) is not None:
            self.into, self.kept = self.kept, None
        elif tag == "dl":
            for term in self.terms:
                words = ["".join(t).strip() for t in term]
                if len(words) == 2:
                    self.facts[words[0]] = words[1]
                else:
                    self.tiles.append(words)

    def handle_data(self, data):
        if self.into is not None:
            self.into.append(data)

    def table(self, caption):
        """Rows of the table, each cell without what is small after it."""
        for t in self.tables:
            if caption in "".join(t["caption"]):
                return [["".join(cell).split("|")[0].strip() for cell in row] for row in t["rows"][1:]]
        return []

    def tile(self, label):
        return next(t for t in self.tiles if t[0].startswith(label))


def headroom(ratio):
    return three(ratio) + "×" if ratio >= 10 else spare(ratio) + "\u202f%"


def margin_of(week):
    """The headroom of what is paid for now: the week's, or the least of all hours where the replicas changed in the week. A measured capacity is judged at its low end."""
    now, basis = week.hours[-1].paid, week.document["basis"]
    end = 0 if basis["kind"] == "measured" else 1
    if all(h.paid == now for h in week.hours):
        return week.sums[("low_headroom_ratio", "headroom_ratio")[end]]
    loaded = [h for h in week.covered if h.rates[0] is not None and h.figures["peak_rate_per_s"]]
    least = min(loaded, key=lambda h: h.rates[0] / h.figures["peak_rate_per_s"])
    return least.rates[end] * now * gain(basis["fleets"], now) / least.figures["peak_rate_per_s"] - 1


def count(n):
    return f"{math.floor(n + 0.5):,}"


def three(x):
    """Three significant figures."""
    if x == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(x)))
    rounded = round(x, digits)
    places = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{places}f}".replace("-", "−")


def per_cent(ratio):
    """Two figures where it matters: 17, 3.6, 0.4."""
    text = f"{ratio * 100:,.{0 if abs(ratio) >= 0.0995 else 1}f}"
    return "0" if not text.strip("-0.") else text.replace("-", "−")


def signed(ratio):
    return ("+" if ratio > 0 and per_cent(ratio) != "0" else "") + per_cent(ratio)


def spare(ratio):
    return per_cent(ratio) if abs(ratio) < 0.0095 else f"{ratio * 100:,.0f}".replace("-", "−")


def amount(usd):
    return count(usd) if usd >= 99.995 else f"{usd:.2f}"


def share(ratio):
    if ratio < 0.9:
        return three(ratio * 100)
    if ratio > 0.9999:
        return "100" if 1 - ratio < 1e-11 else ">\u202f99.99"
    places = min(max(1 - math.floor(math.log10((1 - ratio) * 100)), 1), 2)
    return f"{ratio * 100:.{places}f}".removesuffix("." + "0" * places)


# Comparing.


def compare_hours(week, place):
    table = {cells[0]: cells for cells in week.page.table("Every hour of the week")}
    for h, stored in zip(week.hours, week.stored):
        where = f"{place} {h.local}"
        mine = h.figures | {"hour_start": h.at, "cost_usd": h.paid * week.service.gpus * week.service.price}
        mine |= dict(zip(("low_needed_replicas", "needed_replicas", "high_needed_replicas"), h.needed))
        stored["hour_start"] = instant(stored["hour_start"])
        for column, value in mine.items():
            compared.compare(f"service_hours.{column}", where, stored[column], value)
        cells = table[h.local]
        for column, at, write in (("requests", 1, count), ("peak_rate_per_s", 2, three), ("input_tokens", 3, count), ("output_tokens", 4, count)):
            compared.text(f"page, hours: {column}", where, cells[at], h.figures[column], write)
        low, middle, high = h.needed
        text = None if middle is None else count(middle) + (f" ({low} to {high})" if low != high else "")
        compared.text("page, hours: needed", where, cells[5], text, str)
        compared.text("page, hours: paid", where, cells[6], h.paid, count)


def compare_usual(week, before, place):
    for h, stored in zip(week.hours, week.document["hours"]):
        for column in ("requests", "input_tokens", "output_tokens"):
            values = []
            for w in before[-4:]:
                other = next(o for o in w.hours if (o.day, o.of) == (h.day, h.of))
                if not other.missing:
                    values.append(other.figures[column])
            usual = stored[f"usual_{column}"] or dict.fromkeys(("median", "low", "high", "weeks"))
            mine = (statistics.median(values), min(values), max(values), len(values)) if values else (None,) * 4
            for name, value in zip(("median", "low", "high", "weeks"), mine):
                compared.compare(f"usual {column}: {name}", f"{place} {h.local}", usual[name], value)


def compare_sums(week, place):
    mine = week.sums
    stored = rows_of("from marts.service_weeks where service = ? and week = ?", week.service.name, week.name)[0]
    stored["busiest_hour_start"] = instant(stored["busiest_hour_start"])
    with open(f"{FOLDER}/{week.service.name}-{week.name}/summary.json", encoding="utf-8") as file:
        summary = week.summary = json.load(file)
    summary["busiest_hour_start"] = instant(datetime.datetime.fromisoformat(summary["busiest_hour_start"]))
    for column, value in mine.items():
        compared.compare(f"service_weeks.{column}", place, stored[column], value)
        compared.compare(f"summary.json: {column}", place, summary[column], value)
    compared.compare("summary.json: paid_replicas", place, summary["paid_replicas"], week.hours[-1].paid)


def compare_tiles(week, last, place):
    s, page = week.sums, week.page
    values = {
        "Busiest hour": three(s["peak_rate_per_s"]) + "/s", "Headroom": headroom(margin_of(week)), "GPU-hours needed": count(s["gpu_hours_needed"]),
        "Per million": "–" if s["usd_per_million_accepted"] is None else "$" + amount(s["usd_per_million_accepted"]),
        "Requests within the SLO": share(s["within_slo_ratio"]) + "\u202f%",
    }  # fmt: skip
    for label, value in values.items():
        compared.compare(f"tile: {label}", place, page.tile(label)[1], value)
    part = per_cent(s["gpu_hours_needed"] / s["gpu_hours_paid_covered"]) + "\u202f% of the " + count(s["gpu_hours_paid_covered"])
    compared.compare("tile: part needed", place, page.tile("GPU-hours needed")[2].startswith(part), True)
    if last:
        before = week.document["before"][-1]  # by this week's estimates
        text = page.tile("Busiest hour")[3]
        compared.compare("tile: busiest hour, last week", place, three(before["peak_rate_per_s"]) in text, True)
        compared.compare("tile: headroom, last week", place, headroom(before["low_headroom_ratio" if week.document["basis"]["kind"] == "measured" else "headroom_ratio"]) in page.tile("Headroom")[3], True)
        compared.compare("tile: within, last week", place, share(before["within_slo_ratio"]) in page.tile("Requests within")[3], True)


def compare_weeks(week, before, place):
    """The table of this week and those before: of weeks before the last one nobody works out the need again."""
    rows = {cells[0]: cells for cells in week.page.table("This week and those before")}
    compared.compare("page, weeks: how many", place, len(rows), len(before) + 1)
    for w in before + [week]:
        cells, where = rows[w.name], f"{place}: {w.name}"
        s = sums_of(w, w.document["basis"])
        if w is not week:  # by this week's estimates
            s |= {k: v for k, v in week.document["before"][-1].items() if w is before[-1] and k in ("low_headroom_ratio", "gpu_hours_needed", "within_slo_ratio")}
        compared.text("page, weeks: requests", where, cells[1], s["requests"], count)
        compared.text("page, weeks: paid", where, cells[5], s["gpu_hours_paid"], count)
        compared.text("page, weeks: cost", where, cells[6], s["cost_usd"], amount)
        compared.text("page, weeks: missing", where, cells[8], s["missing_hours"], count)
        if w in (before + [week])[-2:]:
            compared.text("page, weeks: peak", where, cells[2], s["peak_rate_per_s"], three)
            compared.text("page, weeks: headroom", where, cells[3], s["low_headroom_ratio"], spare)
            compared.text("page, weeks: needed", where, cells[4], s["gpu_hours_needed"], count)
            compared.text("page, weeks: within", where, cells[7], s["within_slo_ratio"], share)


def compare_days(week, place):
    rows = week.page.table("Seven days")
    compared.compare("page, days: how many", place, len(rows), 7)
    for day, cells in enumerate(rows):
        hours = [h for h in week.covered if h.day == day]
        where = f"{place} {cells[0]}"
        compared.text("page, days: requests", where, cells[1], sum(len(h.rows) for h in hours), count)
        for at, name in ((2, "input"), (3, "output")):
            compared.text(f"page, days: {name}", where, cells[at], sum(getattr(r, name) for h in hours for r in h.rows) / 1e6, lambda x: f"{x:.2e}" if 0 < x < 0.00009995 else three(x))
        compared.text("page, days: peak", where, cells[4], max((h.figures["peak_rate_per_s"] for h in hours), default=0), three)
        compared.text("page, days: missing", where, cells[5], sum(h.missing and h.day == day for h in week.hours), count)


def compare_money(week, place):
    rows, s, price = week.page.table("The week in money"), week.sums, week.service.price
    mine = [(s["gpu_hours_paid"], s["cost_usd"]), (s["gpu_hours_paid_covered"], s["gpu_hours_paid_covered"] * price), (s["gpu_hours_needed"], s["gpu_hours_needed"] * price)]
    if all(h.needed[2] is not None for h in week.covered):
        cautious = week.service.gpus * sum(h.needed[2] for h in week.covered)
        mine.append((cautious, cautious * price))
    for cells, (hours, usd) in zip(rows, mine, strict=False):
        compared.text("page, money: GPU-hours", f"{place} {cells[0]}", cells[1], hours, count)
        compared.text("page, money: cost", f"{place} {cells[0]}", cells[2], usd, amount)
    compared.text("page, money: a million accepted", place, rows[-1][2], s["usd_per_million_accepted"], amount)
    paid, *_ = ways = ways_to_run(week)
    for cells, stored, hours in zip(week.page.table("ways to run this week"), week.document["scaling"], ways, strict=True):
        where = f"{place} {cells[0]}"
        compared.compare("scaling: GPU-hours", where, stored["gpu_hours"], hours)
        compared.compare("scaling: cost", where, stored["cost_usd"], round(hours * price, 2))
        compared.compare("scaling: saved", where, stored["saved_ratio"], 1 - hours / paid, 1e-7)
        compared.text("page, ways to run: GPU-hours", where, cells[1], hours, count)
        compared.text("page, ways to run: cost", where, cells[2], hours * price, amount)
        compared.text("page, ways to run: saved", where, cells[3], 1 - hours / paid, per_cent)


def compare_table_of_hours(week, place):
    """Replicas to run: the need at the cautious end, one at least, and as paid where that is not known."""
    run = [h.paid if h.needed[2] is None else max(1, h.needed[2]) for h in week.hours]
    grid, clock = {}, collections.Counter()
    for cells in week.page.table("Replicas to run"):
        again = cells[0].endswith("again")
        for day, text in enumerate(cells[1:]):
            if text:
                grid[day, int(cells[0][:2]), again] = int(text)
    for h, replicas in zip(week.hours, run):
        again = clock[h.day, h.of] > 0
        clock[h.day, h.of] += 1
        compared.compare("page, replicas to run", f"{place} {h.local}", grid.get((h.day, h.of, again)), replicas)


def compare_shape(week, last, place):
    shape, lengths = week.document["shape"], {}
    for name in ("input", "output"):
        lengths[name] = [[getattr(r, name) for r in measured(w.rows)] if w else [] for w in (week, last)]
    rows = {}
    for t in week.page.tables:
        for row in t["rows"]:
            cells = ["".join(c).split("|")[0].strip() for c in row]
            if re.fullmatch(r"(Input|Output) p\d+", cells[0]):
                rows[cells[0]] = cells
    for q in shape["quantiles"]:
        percent, name = re.fullmatch(r"p(\d+) (\w+)_tokens", q["name"]).groups()
        this, before = (quantile(values, int(percent) / 100) for values in lengths[name])
        ratio = None if before is None else this / before - 1
        compared.compare("shape: quantile", f"{place} {q['name']}", q["this"], this)
        compared.compare("shape: quantile last week", f"{place} {q['name']}", q["before"], before)
        compared.compare("shape: change of a quantile", f"{place} {q['name']}", q["ratio"], ratio, 1e-7)
        cells = rows[f"{name.capitalize()} p{percent}"]
        compared.text("page, shape: quantile", f"{place} {q['name']}", cells[1], this, count)
        compared.text("page, shape: quantile last week", f"{place} {q['name']}", cells[2], before, count)
        if ratio is not None:
            compared.compare("page, shape: change", f"{place} {q['name']}", cells[3][2:], signed(ratio))
    if last:
        for name, (this, before) in lengths.items():
            ks, area = distances(this, before)
            # The page's are of lengths rounded to the 64th part of an octave, which can only bring two distributions nearer.
            compared.compare("shape: KS", f"{place} {name}", shape[name]["ks"], ks, 0.01 / ks)
            compared.compare("shape: KS, not above", f"{place} {name}", shape[name]["ks"] <= ks, True)
            compared.compare("shape: Wasserstein", f"{place} {name}", shape[name]["wasserstein"], area, 0.01 / area)
    seen = 0
    for cell in shape["cells"]:
        inside = [r for r in measured(week.rows) if cell["input_from"] <= max(r.input, 1) < cell["input_to"] and cell["output_from"] <= r.output < cell["output_to"]]
        where = f"{place} {cell['input_from']:.0f} x {cell['output_from']:.0f}"
        compared.compare("heat map: requests", where, cell["requests"], len(inside))
        compared.compare("heat map: tokens", where, cell["tokens"], sum(r.input + r.output for r in inside))
        seen += len(inside)
    compared.compare("heat map: all requests", place, seen, len(measured(week.rows)))


def compare_classes(week, growth, place):
    s = week.sums
    rows = {}
    for cells in week.page.table("By class or model"):
        rows[cells[0]] = cells
    of = collections.defaultdict(list)
    for r in week.rows:
        of[class_of(r)].append(r)
    compared.compare("classes: how many", place, len(week.document["classes"]), len(of))
    for stored in week.document["classes"]:
        name, where = stored["name"], f"{place} {stored['name']!r}"
        requests = of[name]
        mine = len(requests), sum(r.input for r in requests), sum(r.output for r in requests)
        for figure, at, value in zip(("requests", "input_tokens", "output_tokens"), (1, 2, 3), mine):
            compared.compare(f"classes: {figure}", where, stored[figure], value)
            compared.text(f"page, classes: share of {figure}", where, rows[name][at], value / s[figure], per_cent)
        compared.compare("classes: growth", where, stored["requests_growth_ratio"], growth.get(name), 1e-7)
        compared.text("page, classes: growth", where, rows[name][4], growth.get(name), signed)


def compare_changes(week, last, place):
    mine, growth = changes_of(week, last) if last else ({}, {})
    for change in week.document["changes"] or []:
        if change["figure"] in mine:
            before, ratio = mine[change["figure"]]
            compared.compare(f"change: {change['figure']}, last week", place, change["before"], before)
            # Two counts that are nearly the same lose digits when one is taken from their ratio.
            compared.compare(f"change: {change['figure']}", place, 1 + change["ratio"], 1 + ratio)
    if last:
        compared.compare("summary.json: requests_growth_ratio", place, week.summary["requests_growth_ratio"], mine["requests"][1], 1e-7)
        compared.compare("summary.json: tokens_growth_ratio", place, week.summary["tokens_growth_ratio"], mine["tokens"][1], 1e-7)
    compare_classes(week, growth, place)


def compare_forecast(weeks, place):
    week, told = weeks[-1], weeks[-1].document["forecast"]
    for w, point in zip(weeks, told["history"], strict=True):
        compared.compare("forecast: peak of a week", f"{place}: {w.name}", point["peak_rate_per_s"], max(h.figures["peak_rate_per_s"] for h in w.covered))
    compared.compare("forecast: weeks of history", place, told["weeks"], len(weeks))
    if len(weeks) < 3:
        return
    peak, error = naive_of(weeks)
    if told["month"]:
        came = max(h.figures["peak_rate_per_s"] for h in week.covered)
        compared.compare("forecast: what came of last month's", place, told["month"]["came"], came)
    compared.compare("forecast: naive", place, told["naive"][0]["peak_rate_per_s"], peak)
    compared.compare("forecast: naive error", place, told["naive_error"], error)
    compared.compare("summary.json: naive_forecast_peak_rate_per_s", place, week.summary["naive_forecast_peak_rate_per_s"], peak)
    compared.compare("summary.json: forecast_peak_rate_per_s", place, week.summary["forecast_peak_rate_per_s"], told["ahead"][0]["peak_rate_per_s"])


def compare_rest(week, place):
    """The fullest minute, gaps, copies, and the rows of alternatives that are today's deployment."""
    minutes = collections.Counter(r.at // 60_000_000 for r in week.rows)
    first = min(m for m, n in minutes.items() if n == max(minutes.values()))
    stored = week.document["fullest"]
    compared.compare("fullest minute: requests", place, stored["requests"], minutes[first])
    compared.compare("fullest minute: when", place, instant(datetime.datetime.fromisoformat(stored["start"])), first * 60_000_000)
    compared.compare("page, fullest minute", place, f"with {minutes[first]}\u00a0request" in week.page.facts["Fullest minute"], True)
    bursts = sorted(h.figures["burst_ratio"] for h in week.covered if h.figures["burst_ratio"] is not None)
    compared.compare("page, burstiness", place, f"varies {three(bursts[len(bursts) // 2])}× " in week.page.facts["Burstiness"] and f", {three(bursts[-1])}× in" in week.page.facts["Burstiness"], True)
    missing = [h.at for h in week.hours if h.missing]
    told = [at for gap in week.document["gaps"] or [] for at in range(instant(datetime.datetime.fromisoformat(gap["from"])), instant(datetime.datetime.fromisoformat(gap["until"])), HOUR)]
    compared.compare("gaps: hours", place, str(told), str(missing))
    compared.compare("gaps: how many", place, sum(g["hours"] for g in week.document["gaps"] or []), len(missing))
    for s in week.service.sources:
        copies = sum(n for (name, at), n in week.service.copies.items() if name == s.name and week.begin <= at < week.end)
        own = len(between(s.rows, week.begin, week.end))
        if copies:
            note = next((n for n in week.document["notes"] if n.startswith(f"{copies:,} requests of {s.name} are in")), None)
            compared.compare("notes: copies", place, note is not None, True)
        for stored in week.document["sources"]:
            if stored["name"] == s.name:
                compared.compare("sources: is counted elsewhere", f"{place} {s.name}", stored["duplicate_of"] != "", copies == own > 0)
    nines = week.document["nines"] or []
    for before, nine in zip([None] + nines, nines):
        usd = nine["replicas"] and nine["replicas"] * week.service.gpus * week.service.price * len(week.hours)
        more = round(usd - before["usd_per_week"], 2) if before and usd and before["usd_per_week"] else None
        compared.compare("nines: cost", f"{place} {nine['within_slo_ratio']}", nine["usd_per_week"], usd)
        compared.compare("nines: more", f"{place} {nine['within_slo_ratio']}", nine["usd_per_week_more"], more)
    s = week.sums
    low, peak = min(h.rates[0] for h in week.hours if h.at == s["busiest_hour_start"]), s["peak_rate_per_s"]
    for row in week.document["alternatives"]:
        where = f"{place} {row['name']}"
        if row["usd_per_week"] is not None and s["accepted_output_tokens"] is not None:
            million = row["usd_per_week"] * (s["hours"] - s["missing_hours"]) / s["hours"] / s["accepted_output_tokens"] * 1e6
            compared.compare("alternatives: a million accepted", where, row["usd_per_million_accepted"], round(million, 6))
        if row["kind"] == "today" or row["name"].split(" × ")[1] == week.document["alternatives"][0]["name"].split(" × ")[1]:
            compared.compare("alternatives: headroom of today's", where, row["headroom_ratio"], row["replicas"] * gain(week.document["basis"]["fleets"], row["replicas"]) * low / peak - 1)
            compared.compare("alternatives: cost of today's", where, row["usd_per_week"], row["gpus"] * week.service.price * s["hours"])


def compare_service(service):
    for i, week in enumerate(service.weeks):
        before, place = service.weeks[:i], f"{service.name} {week.name}"
        last = before[-1] if before else None
        week.page = Page(f"{FOLDER}/{service.name}-{week.name}.html")
        week.sums = sums_of(week, week.document["basis"])
        compare_hours(week, place)
        compare_usual(week, before, place)
        compare_sums(week, place)
        compare_tiles(week, last, place)
        compare_weeks(week, before, place)
        compare_days(week, place)
        compare_money(week, place)
        compare_table_of_hours(week, place)
        compare_shape(week, last, place)
        compare_changes(week, last, place)
        compare_forecast(service.weeks[: i + 1], place)
        compare_rest(week, place)


for said in json.load(sys.stdin):
    compare_service(Service(said))
sys.exit(not compared.table())
