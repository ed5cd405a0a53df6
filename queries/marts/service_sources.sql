-- One row per service, week with a report, and source of its traffic that reaches into the week.
--
-- What two sources have in common is counted in the one of the lower place.
-- Published per week of a service.
-- group: money
-- service       the service
-- week          ISO week in the service's zone: '2026-W47'
-- place         0-based, in the order of the service file and then of names
-- source_name   what the user calls the source
-- class         only its requests of that class count; null: of all
-- model         only its requests for that model count; null: for all
-- covers        which hours it speaks of: 'rows', 'day', or FROM/UNTIL
-- duplicate_of  source that has all of its requests of the week; null: none
with listed as (
    select
        service,
        week,
        unnest(from_json(document -> '$.sources', '[{
            "name": "VARCHAR", "role": "VARCHAR", "class": "VARCHAR", "model": "VARCHAR", "covers": "VARCHAR", "duplicate_of": "VARCHAR"
        }]')) as source,
        generate_subscripts(from_json(document -> '$.sources', '["JSON"]'), 1) - 1 as place
    from staging.service_weeks
)

select
    service,
    week,
    place,
    source.name as source_name,
    source.class,
    source.model,
    source.covers,
    nullif(source.duplicate_of, '') as duplicate_of
from listed
where source.role = 'traffic'
