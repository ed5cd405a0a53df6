-- How a name, a version and a constant are found.

-- Whether `wanted` is a seed row's name or one of its aliases, in any case.
create macro macros.is_named(name, aliases, wanted) as
    lower(wanted) = lower(name)
    or coalesce(list_contains(string_split(lower(aliases), ';'), lower(wanted)), false);

-- A version as a number that can be compared: 0.12.3 is 12, 1.4 is 1004; null
-- where there is none.
create macro macros.version_number(version) as
    1000 * try_cast(regexp_extract(version, '(\d+)\.(\d+)', 1) as integer)
    + try_cast(regexp_extract(version, '(\d+)\.(\d+)', 2) as integer);

-- How far a row of seeds.constants is from a deployment: what says more about
-- the engine is nearer, then the version, then the GPU, then the format.
create macro macros.constant_distance(
    engine, engine_version, gpu, format, wanted_version
) as
    case when engine = '*' then 1e9 else 0e0 end
    + case
        when engine_version = '*' and macros.version_number(wanted_version) is null then 0e0
        when engine_version = '*' then 1e5
        when macros.version_number(wanted_version) is null then 1e6
        else abs(macros.version_number(engine_version) - macros.version_number(wanted_version))
    end
    + case when gpu = '*' then 0.5e0 else 0e0 end
    + case when format = '*' then 0.25e0 else 0e0 end;
