-- The quantiles that a distribution is shown by.
create macro macros.shown_quantiles() as [
    0.01e0, 0.05e0, 0.1e0, 0.2e0, 0.25e0, 0.3e0, 0.4e0, 0.5e0,
    0.6e0, 0.7e0, 0.75e0, 0.8e0, 0.9e0, 0.95e0, 0.99e0, 0.999e0
];

-- The q-quantile of a sorted list, by linear interpolation between the two nearest (type 7 of Hyndman and Fan 1996, as quantile_cont and
-- numpy have it).
create macro macros.interpolated(sorted, q) as
    sorted[floor(q * (len(sorted) - 1))::bigint + 1]
    + (q * (len(sorted) - 1) - floor(q * (len(sorted) - 1)))
    * (
        sorted[least(floor(q * (len(sorted) - 1))::bigint + 2, len(sorted))]
        - sorted[floor(q * (len(sorted) - 1))::bigint + 1]
    );

-- The p99 out of a list of quantiles whose last one it is; null below 100 samples, because not even one would lie beyond it.
create macro macros.p99_of(quantiles, samples) as
    case when samples >= 100 then quantiles[len(quantiles)] end;

-- The mean over decoded tokens of what is known of each request. Means of several groups that are made this way add up: the sum of
-- mean times tokens over the sum of tokens is the mean of all.
create macro macros.token_mean(value_s, tokens) as
    sum((value_s) * tokens) / sum(tokens);
