-- The row of macros.peaks().
select
    (select map_from_entries(list((gpus.gpu, gpus))) from macros.gpus() as gpus) as gpu,
    (select map_from_entries(list((formats.format, formats))) from seeds.formats) as format;
