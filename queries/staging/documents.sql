-- One row per file of a results folder, so that the folder can be written again.
-- source_id     number of the source: the folder
-- source_name   what the user calls it
-- path          the file's name inside the folder
-- content       its bytes
-- size_bytes    how many they are
select
    documents.source_id,
    sources.name as source_name,
    documents.path,
    documents.content,
    octet_length(documents.content) as size_bytes
from raw.documents
join raw.sources on sources.source_id = documents.source_id
