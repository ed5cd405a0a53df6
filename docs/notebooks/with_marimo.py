import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", sql_output="pandas")


@app.cell
def _():
    import os

    import duckdb
    import marimo as mo
    import matplotlib.pyplot as plt

    return duckdb, mo, os, plt


@app.cell
def _(mo):
    mo.md("""
    # marimo: how are the waits of all runs spread?

    `pip install "marimo[sql]" duckdb pandas pytz matplotlib`, then `marimo edit with_marimo.py`. `$TIDEMARK_PUBLISHED` is the folder that `tidemark warehouse publish`
    names. The counts of the buckets add up over runs, so that this is exact to the width of a bucket, 1.09 %,
    however many runs there are. Runs on simulated servers are lines of their own.
    """)
    return


@app.cell
def _(duckdb, os):
    snapshot = duckdb.connect(os.environ["TIDEMARK_PUBLISHED"] + "/latest.duckdb", read_only=True)
    return (snapshot,)


@app.cell
def _(mo, snapshot):
    buckets = mo.sql(
        """
        select
            metric || if(is_simulated, ', simulated', '') as line,
            bucket,
            sum(samples)::bigint as samples
        from marts.latency_histograms
        inner join marts.runs using (run_id)
        where metric in ('ttft_s', 'tpot_s')
        group by all
        order by all
        """,
        engine=snapshot,
    )
    return (buckets,)


@app.cell
def _(buckets, plt):
    fig, axes = plt.subplots(figsize=(8, 4.5))
    for colour, (name, of_line) in zip(["#0072B2", "#D55E00", "#009E73", "#CC79A7"], buckets.groupby("line")):
        ends_ms = 2 ** ((of_line.bucket + 1) / 64) * 1e3
        axes.step(ends_ms, of_line.samples.cumsum() / of_line.samples.sum(), where="post", color=colour, label=name)
    axes.set(title="TTFT and TPOT of all runs", xlabel="at most so long (ms)", ylabel="share of the requests", xlim=(0, None), ylim=(0, 1.02))
    axes.legend()
    fig
    return


@app.cell
def _(mo):
    mo.md("""
    A figure to check with. The program gives the same:

    ```
    tidemark sql "select sum(completed) from marts.runs"
    ```
    """)
    return


@app.cell
def _(buckets):
    int(buckets.samples[buckets.line.str.startswith("ttft_s")].sum())
    return


if __name__ == "__main__":
    app.run()
