-- The parameters of each model in the seeds, computed from its fields, are within 0.1 % of the published number, or within 1 % if that number
-- is rounded. A mistyped field shows here.
-- group: trust
-- model              name in seeds.models
-- worked_out         parameters by macros.total_params
-- published_params   parameters as published
select
    models.model,
    macros.total_params(models) as worked_out,
    models.published_params
from seeds.models
where abs(macros.total_params(models) / models.published_params - 1) > case when models.is_exact then 1e-3 else 1e-2 end
