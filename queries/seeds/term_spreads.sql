-- One row per reason for which a term of a prediction may be off. Spreads of one term add up; the terms are independent of each other.
-- They were set by judgement, from how far kernels, GPUs and engine versions differ among themselves, and are checked against measurements
-- that nothing was fitted to (docs/accuracy.md).
-- group: model
-- term            of macros.prediction, without _s; 'all': whatever the terms; 'extra': of some loads and versions
-- condition       when it holds; null: always. measured: H100 and H200; related: their kin; far: as the engine's version is from a measured one
-- spread          one standard deviation of the term's logarithm; of 'all' and 'extra' of the prediction's
create table seeds.term_spreads (
    term varchar not null,
    condition varchar,
    spread double not null
);
