-- group: statistics

-- A block bootstrap (Künsch 1989, with blocks that do not overlap): the time of a run is cut into blocks, blocks are drawn with replacement,
-- and a statistic of the drawn blocks is as far from the statistic of the run as that is from the truth. Neighbours in time share a queue
-- and stay together in their block, so that their likeness widens the interval.
--
-- A quantile is not sorted again for each draw. A draw gives the share of samples at or below the run's own quantile, and the run's samples at
-- the rank that this share is wrong by give the draw's quantile (Woodruff 1952; Bahadur 1966).
--
-- The draws come from md5, so that they are the same in every version of every engine.

-- How often blocks are drawn, and into how many blocks the time is cut for it. Fewer blocks are longer and hold longer bursts: with 20, and
-- latencies that remember 50 requests of 4,000, the interval held the truth in 83 of 100 runs. It is widened for the small number
-- (macros.resampling_factor). internal/proof/accuracy/pairs_test.go has the study.
--   select macros.replicates() as replicates
create macro macros.replicates() as 400;

-- Into how many blocks the time of a run is cut for its draws.
--   select macros.resampled_blocks() as blocks
create macro macros.resampled_blocks() as 10;

-- The block, from 0, of one draw of a replicate. Runs of one plan have one seed and draw the same blocks; other runs draw others.
--   select macros.drawn_block('plan', 1, 1) as block
create macro macros.drawn_block(seed, replicate, draw) as
    (md5_number_lower(concat_ws(' ', seed, replicate, draw)) % macros.resampled_blocks())::integer;

-- The shares at which a distribution is kept as quantiles, from which macros.interpolated reads any other one.
--   select len(macros.rungs()) as rungs
create macro macros.rungs() as [k / 1000.0e0 for k in range(1001)];

-- The quantile of a replicate: ladder has the quantiles at macros.rungs(), below is the replicate's share of samples at or below the q-quantile.
--   select macros.replicate_quantile(macros.rungs(), 0.5, 0.49) as value
create macro macros.replicate_quantile(ladder, q, below) as
    macros.interpolated(ladder, least(greatest(2 * q - below, 0), 1));

-- By how much the ends of an interval move away from its centre: Student's t is wider than the normal by about 1 + 1 / degrees of freedom, of
-- which each set of blocks that was drawn for itself has blocks - 1, and the variance of drawn blocks is too small by (blocks - 1) / blocks.
-- sets is 1 for paired runs, which share their draws, and 2 for others. Ten blocks: 1.171 and 1.113 times.
--   select macros.resampling_factor(10, 2) as factor
create macro macros.resampling_factor(blocks, sets) as
    (1 + 1 / (sets * (blocks - 1.0e0))) * sqrt(blocks / (blocks - 1.0e0));

-- One end of the 90 % interval around centre: q is 0.05 or 0.95, in_order has the replicates.
--   select macros.resampled_end(1.0, macros.rungs(), 0.95, 2) as high
create macro macros.resampled_end(centre, in_order, q, sets) as
    centre + (macros.interpolated(in_order, q) - centre) * macros.resampling_factor(macros.resampled_blocks(), sets);

-- The quantiles that runs are compared by: p50, p90, p95 and p99.
--   select macros.compared_quantiles() as quantiles
create macro macros.compared_quantiles() as [0.5e0, 0.9e0, 0.95e0, 0.99e0];
