"""Reads the truth and what each method has found, and prints the share of the true front's hypervolume that the found fronts have: the median over the
seeds, with the 5th and the 95th percentile. Fails where a peer has found more in all of its GPU-minutes than tune in a third of them."""

import json
import statistics
import sys

import moocore
import numpy as np

MINUTES = [0, 50, 100, 200, 300, 400, 800, 1200]
truth, trails = {}, {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "truth" in row:
        truth[row["seed"]] = np.array(row["truth"])  # of each candidate: rate, cost
    elif "front" in row:
        trails.setdefault(row["method"], {}).setdefault(row["seed"], []).append(row)


def volume(points, best):
    """Of what is better than half of the largest rate and twice the least cost; both as shares, so that neither counts more."""
    rate, cost = best
    scaled = np.column_stack([-points[:, 0] / rate, points[:, 1] / cost])
    return moocore.hypervolume(scaled, ref=[-0.5, 2])


shares = {}
for method, seeds in trails.items():
    for seed, trail in seeds.items():
        points = truth[seed]
        best = points[:, 0].max(), points[:, 1].min()
        whole = volume(points, best)
        for minutes in MINUTES:
            found = [row["front"] for row in trail if row["gpu_minutes"] <= minutes]
            share = volume(points[found[-1]], best) / whole if found and found[-1] else 0.0
            shares.setdefault((method, minutes), []).append(share)

print("method    seeds " + "".join(f"{m:>17}" for m in MINUTES) + "   GPU-minutes")
for method in trails:
    cells = []
    for minutes in MINUTES:
        all_ = sorted(shares[method, minutes])
        cells.append(f"{np.median(all_):6.3f} {np.quantile(all_, 0.05):.2f}-{np.quantile(all_, 0.95):.2f}")
    used = statistics.median(trail[-1]["gpu_minutes"] for trail in trails[method].values())
    print(f"{method:9} {len(trails[method]):5} " + "".join(f"{c:>17}" for c in cells) + f"   {used:.0f}")

full = MINUTES[-1]
ahead = [m for m in trails if "tune" in trails and np.median(shares[m, full]) > np.median(shares["tune", full // 3])]
if ahead:
    sys.exit(f"{', '.join(ahead)}: more after {full} GPU-minutes than tune after {full // 3}")
