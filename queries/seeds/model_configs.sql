-- One row per built-in model: its config.json, as far as the bandwidth model reads it. seeds.models is what
-- macros.model_config makes of it.
-- group: model
-- model             what --catalog-model takes, spelled as macros.model_spelling reads it
-- aliases           other names for the same weights, separated by ';'
-- config            the keys that are read, JSON
-- published_params  parameters as published, to check the macros with
-- is_exact          that number is a count and not a rounded one
-- source            where they were read
create table seeds.model_configs (
    model varchar primary key,
    aliases varchar,
    config varchar not null,
    published_params double not null,
    is_exact boolean not null,
    source varchar not null
);
