-- How far a measured percentile or share may be from the true one: 90 % intervals, how many samples a verdict needs, and the effective
-- sample size of a run, whose samples are not independent.
-- group: statistics

-- Fewest samples for a two-sided interval of a percentile: below them one of its ends lies beyond
-- the samples, by the ranks below. 299 for p99.
--   select macros.fewest_samples(0.99)
create macro macros.fewest_samples(q) as
    ceil(ln(0.05e0) / ln(greatest(q, 1 - q)))::bigint;

-- Probability that exactly k of n samples lie at or below the q-quantile.
--   select macros.binomial(10, 9, 0.9)
create macro macros.binomial(n, k, q) as
    exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * ln(q) + (n - k) * ln(1 - q));

-- Ranks (1-based, of n sorted samples) between which the q-quantile lies: the distribution-free interval by the binomial (Thompson 1936).
-- At most 5 % that it is below the lower rank, and as much above the upper one. A rank of 0 or n + 1 means that this end is not known. Ranks further than seven standard deviations from the middle have no weight.
--   select macros.quantile_ranks(500, 0.99)
create macro macros.quantile_ranks(n, q) as (
    with weights as (
        select
            k,
            macros.binomial(n, k, q) as weight
        from (
            select unnest(range(
                greatest(0, floor(n * q - 7 * sqrt(n * q * (1 - q)) - 2))::bigint,
                least(n, ceil(n * q + 7 * sqrt(n * q * (1 - q)) + 2))::bigint + 1
            )) as k
        ) as near
    ),

    sums as (
        select
            k,
            sum(weight) over (order by k rows unbounded preceding) as at_most
        from weights
    )

    select {
        lower: coalesce(max(k) filter (where at_most <= 0.05e0) + 1, 0),
        upper: coalesce(min(k) filter (where at_most >= 0.95e0) + 1, n + 1)
    }
    from sums
);

-- Lower end of Wilson's 90 % score interval (Wilson 1927) for a share of k in n.
--   select macros.share_low(95, 100)
create macro macros.share_low(k, n) as
    greatest(0, (k + 1.3528e0 - 1.6449e0 * sqrt(k * (n - k) / n::double + 0.6764e0)) / (n + 2.7055e0));

-- Upper end of Wilson's 90 % score interval (Wilson 1927) for a share of k in n.
--   select macros.share_high(95, 100)
create macro macros.share_high(k, n) as
    least(1, (k + 1.3528e0 + 1.6449e0 * sqrt(k * (n - k) / n::double + 0.6764e0)) / (n + 2.7055e0));

-- Samples needed to distinguish a share of k in n from the allowed share p, if it stays as it is; null if it is within half a percent of
-- the bound.
--   select macros.samples_to_tell(95, 100, 0.99)
create macro macros.samples_to_tell(k, n, p) as
    case when abs(k - n * p) >= 5e-3 * n * p then ceil(2.7055e0 * p * (1 - p) / pow(k / n::double - p, 2)) end;

-- The design effect (Kish 1965) of samples that come in bursts: the variance of the number of marked samples in equal parts of the time,
-- given the samples there, over that of independent samples. Of the samples and the marked
-- ones of all parts, and the sums over parts of marked squared, marked times samples, and samples squared; null without marked ones.
--   select macros.spread_ratio(30, 3000, 30, 60, 3100, 301000)
create macro macros.spread_ratio(parts, samples, marked, marked_squared, marked_samples, samples_squared) as
    parts / (parts - 1)
    * (marked_squared - 2 * (marked / samples) * marked_samples + pow(marked / samples, 2) * samples_squared)
    / nullif(marked * (1 - marked / samples), 0);

-- The effective size of n samples by macros.spread_ratio, to which one is added: a run in which no long burst happened has a smaller
-- percentile and looks quieter, both at once, so its interval would be too narrow and too low (docs/accuracy.md). With few blocks the
-- spread itself is uncertain: it is widened by Student's t over the normal's 1.645, about 1 + 1 / degrees of freedom.
--   select macros.effective_by_spread(3000, 1.5, 30)
create macro macros.effective_by_spread(n, spread_ratio, blocks) as
    floor(n / coalesce((1 + spread_ratio) * pow(1 + 1 / nullif(greatest(blocks - 1, 0), 0), 2), 1))::bigint;

-- The effective size of n samples if those beyond their q-quantile came in so many bursts: each burst counts once.
--   select macros.effective_by_bursts(3000, 12, 0.99)
create macro macros.effective_by_bursts(n, bursts, q) as
    floor(least(n, bursts / (1 - q) + 1e-6))::bigint;
