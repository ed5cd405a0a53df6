-- One row per source that was exported under privacy rules: the manifest that was stored with it.
-- group: trust
-- source_id   number of the source
-- document    the manifest, whole
select
    source_id,
    document
from raw.manifests
