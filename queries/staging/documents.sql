-- One row per file of a results folder, so that the folder can be written again.
-- group: tools
-- source_id     number of the source: the folder
-- source_name   what the user calls it
-- path          the file's name inside the folder
-- content       its bytes; null: it held text, so its numbers alone were kept
-- size_bytes    how many they are
with rows_measured as (
    select distinct
        points.source_id,
        points.label || '.json' as path
    from raw.points
    join raw.sources on sources.source_id = points.source_id
    where sources.kind = 'folder'
),

files as (
    select
        coalesce(documents.source_id, rows_measured.source_id) as source_id,
        coalesce(documents.path, rows_measured.path) as path,
        documents.content
    from raw.documents
    full join rows_measured on rows_measured.source_id = documents.source_id and rows_measured.path = documents.path
)

select
    files.source_id,
    sources.name as source_name,
    files.path,
    files.content,
    octet_length(files.content) as size_bytes
from files
join raw.sources on sources.source_id = files.source_id
