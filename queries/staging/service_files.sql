-- One row per service file that a report was made with.
-- group: money
-- service       the service
-- file_sha256   fingerprint of the file
-- path          where it lay, as the user named it
-- content       the file whole
-- is_newest     no later report of the service was made with another file
select
    service,
    file_sha256,
    path,
    content,
    row_number() over (partition by service order by used desc) = 1 as is_newest
from raw.service_files
