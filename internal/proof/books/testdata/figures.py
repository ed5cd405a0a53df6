"""Works figures out from the lake with polars alone, from requests, gaps and arrivals, as the names of latencies define them.

    figures.py LAKE RUN_ID OTHER_RUN_ID TRACE TTFT_BOUND_S TPOT_BOUND_S

Prints one JSON object. The test asks the marts for the same.
"""

import json
import math
import sys

import polars as pl

lake, run, other, trace, ttft_bound_s, tpot_bound_s = *sys.argv[1:5], *map(float, sys.argv[5:])


def part(name):
    return pl.scan_parquet(f"{lake}/{name}/**/*.parquet", hive_partitioning=True)


def from_histogram(values, q):
    """The middle of the bucket, 64 to a doubling, in which the sample of rank q lies."""
    buckets = sorted(math.floor(64 * math.log2(max(value, 1e-6))) for value in values)
    return 2 ** ((buckets[math.floor(q * (len(buckets) - 1))] + 0.5) / 64)


def from_counts(gaps, q):
    """The q-quantile of values that are counted, linear between the two nearest samples."""
    values = gaps.sort("gap_us")
    below = values["gaps"].cum_sum().to_list()
    rank = q * (below[-1] - 1)
    nearest = [next(value for value, n in zip(values["gap_us"], below) if n > r) for r in (math.floor(rank), math.ceil(rank))]
    return (nearest[0] + (nearest[1] - nearest[0]) * (rank - math.floor(rank))) * 1e-6


every = part("staging.requests").filter(~pl.col("is_warm_up")).collect()
ours = every.filter(pl.col("run_id") == run)
good = ours.filter("is_success")
streamed = good.filter(pl.col("received_tokens") >= 2, pl.col("chunk_count") > 1)
gap = part("marts.tpot_gap").filter(pl.col("run_id") == run).collect()
gaps = part("staging.gap_counts").filter(pl.col("run_id") == run).group_by("gap_us").agg(pl.col("gaps").sum()).collect()
arrivals = part("staging.arrivals").filter(pl.col("source_name") == trace).collect()
slow = (pl.col("ttft_from_due_s") > ttft_bound_s) | (pl.col("tpot_s") > tpot_bound_s)
both = every.filter("is_success", pl.col("run_id").is_in([run, other]))
ended_s = ours.select(pl.coalesce("done_s", "last_token_s", "sent_s").max()).item()

print(json.dumps({
    "p99_ttft_s": good["ttft_s"].quantile(0.99, "linear"),
    "p99_tpot_s": good["tpot_s"].quantile(0.99, "linear"),
    "p50_e2e_s": (good["last_token_s"] - good["sent_s"]).quantile(0.5, "linear"),
    "mean_tpot_s": (streamed["last_token_s"] - streamed["first_token_s"]).sum() / (streamed["received_tokens"] - 1).sum(),
    "floor_ratio": (gap["tpot_s"] * gap["decode_tokens"]).sum() / (gap["floor_tpot_s"] * gap["decode_tokens"]).sum(),
    "median_slowdown": (gap["tpot_s"] / gap["predicted_tpot_s"]).median(),
    "output_token_per_s": good["received_tokens"].sum() / (ended_s - ours["due_s"].min()),
    "p99_itl_s": from_counts(gaps, 0.99),
    "p99_ttft_of_both_s": from_histogram(both["ttft_s"], 0.99),
    "failed": ours.filter(pl.col("failure").is_not_null()).height,
    "accepted_ratio": good.filter(~slow.fill_null(False)).height / ours.filter("is_sent").height,
    "busiest_hour": arrivals.group_by(pl.col("arrival_at").dt.hour()).len()["len"].max(),
}))
