-- group: statistics

-- The quantiles that a distribution is shown by.
--   select macros.shown_quantiles()
create macro macros.shown_quantiles() as [
    0.01e0, 0.05e0, 0.1e0, 0.2e0, 0.25e0, 0.3e0, 0.4e0, 0.5e0,
    0.6e0, 0.7e0, 0.75e0, 0.8e0, 0.9e0, 0.95e0, 0.99e0, 0.999e0
];

-- The q-quantile of a sorted list, by linear interpolation between the two nearest (type 7 of Hyndman and Fan 1996, as quantile_cont and
-- numpy have it).
--   select macros.interpolated([1e0, 2e0, 4e0], 0.75)
create macro macros.interpolated(sorted, q) as
    sorted[floor(q * (len(sorted) - 1))::bigint + 1]
    + (q * (len(sorted) - 1) - floor(q * (len(sorted) - 1)))
    * (
        sorted[least(floor(q * (len(sorted) - 1))::bigint + 2, len(sorted))]
        - sorted[floor(q * (len(sorted) - 1))::bigint + 1]
    );

-- The p99 out of a list of quantiles whose last one it is; null below 100 samples, because not even one would lie beyond it.
--   select macros.p99_of([10e-3, 30e-3], 400)
create macro macros.p99_of(quantiles, samples) as
    case when samples >= 100 then quantiles[len(quantiles)] end;

-- The mean over decoded tokens of what is known of each request. Means of several groups that are made this way add up: the sum of
-- mean times tokens over the sum of tokens is the mean of all.
--   select macros.token_mean(tpot_s, tokens) from (values (10e-3, 100), (20e-3, 300)) as requests (tpot_s, tokens)
create macro macros.token_mean(value_s, tokens) as
    sum((value_s) * tokens) / sum(tokens);

-- The value in place k (0-based) of a sorted sample that is given as its distinct values and, for each, how many are not above it.
--   select macros.value_at([1, 5, 9], [3, 4, 5], 3) as the_fourth_of_five
create macro macros.value_at(distinct_values, not_above, k) as
    distinct_values[1 + len(list_filter(not_above, lambda n: n <= k))];

-- The q-quantile of such a sample of n, by linear interpolation between the two nearest, as macros.interpolated has it.
--   select macros.counted_quantile([1, 5, 9], [3, 4, 5], 5, 0.5) as median
create macro macros.counted_quantile(distinct_values, not_above, n, q) as
    macros.value_at(distinct_values, not_above, floor(q * (n - 1)))
    + (q * (n - 1) - floor(q * (n - 1)))
    * (macros.value_at(distinct_values, not_above, ceil(q * (n - 1))) - macros.value_at(distinct_values, not_above, floor(q * (n - 1))));

-- The bucket of a latency in marts.latency_histograms: 64 for each doubling, from a microsecond on.
--   select macros.latency_bucket(0.2) as bucket
create macro macros.latency_bucket(seconds) as
    floor(64 * log2(greatest(seconds::double, 1e-6)))::integer;

-- The q-quantile of latencies in seconds, from the buckets of marts.latency_histograms in ascending order and the samples in each: the
-- middle, in the logarithm, of the bucket that holds it. It is at most 0.55 % off. Null without samples.
--   select macros.histogram_quantile([-200, -149], [90, 10], 0.95) as p95_s
create macro macros.histogram_quantile(buckets, samples, q) as
    pow(2, (0.5 + buckets[1 + len(list_filter(
        list_transform(samples, lambda s, i: list_sum(samples[:i])),
        lambda n: n <= floor(q * (list_sum(samples) - 1))
    ))]) / 64e0);

-- How unevenly things come: variance over mean of their number in a window (index of dispersion for counts), from the sum of the numbers, of
-- their squares, and the number of windows. 1: a Poisson stream.
--   select macros.dispersion_index(10, 60, 10)
create macro macros.dispersion_index(sum_of, squares, windows) as
    (squares / windows - pow(sum_of / windows, 2)) / nullif(sum_of / windows, 0);
