-- A calibration belongs to a deployment, and expert and data parallelism are part of one. Earlier ones knew neither: both are 1.
alter table raw.calibrations add column expert_parallel_size bigint default 1;
alter table raw.calibrations add column data_parallel_size bigint default 1;
