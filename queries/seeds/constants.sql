-- One row per constant of the bandwidth model and what it holds for. '*' is
-- any; the row that says most about a deployment wins: engine first, then the
-- nearest version, then GPU, then format.
-- group: model
-- name            what it is: see the macros that use it
-- engine          'vllm', ... or '*'
-- engine_version  as measured, or the first of several; '*': where no version is known
-- gpu             a name in seeds.gpus or '*'
-- format          a name in seeds.formats or '*'
-- value           in the unit of its column
-- unit            's', 'bytes', 'ratio' or '1'
-- source          measured how, or fitted on what
-- kernel_value    of a fitted one: what kernels alone would make it, near which the fit is held; null: not fitted
-- spread          how far from it the fit may go: one standard deviation of its logarithm
-- architecture    the family of models that it was fitted to and holds for, as in seeds.models; '*': any
create table seeds.constants (
    name varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    gpu varchar not null,
    format varchar not null,
    value double not null,
    unit varchar not null,
    source varchar not null,
    kernel_value double,
    spread double,
    architecture varchar not null default '*'
);
