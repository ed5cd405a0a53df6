-- One row per deployment among the public measurements that the fitted constants of seeds.constants rest on: what was measured, and no
-- measured value. They are InferenceX results by way of aiconfigurator (docs/accuracy.md).
-- group: model
-- gpu                    name in seeds.gpus
-- model                  name in seeds.models
-- tensor_parallel_size   GPUs that share the model
-- weight_format          name in seeds.formats
-- engine                 as --engine takes it
-- engine_version         as the engine calls itself; null: not said
-- least_clients, most_clients   clients of its closed loops
create table seeds.fitted_deployments (
    gpu varchar not null,
    model varchar not null,
    tensor_parallel_size bigint not null,
    weight_format varchar not null,
    engine varchar not null,
    engine_version varchar,
    least_clients double not null,
    most_clients double not null
);
