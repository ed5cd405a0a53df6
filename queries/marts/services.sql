-- One row per service that a report was made of: its newest service file.
-- group: money
-- service       the service
-- file_sha256   fingerprint of the file
-- path          where it lay, as the user named it
-- content       the file whole
-- reported_weeks  weeks with a report
-- newest_week   the latest of them
select
    files.service,
    files.file_sha256,
    files.path,
    files.content,
    count(weeks.week) as reported_weeks,
    max(weeks.week) as newest_week
from staging.service_files as files
left join staging.service_weeks as weeks on weeks.service = files.service
where files.is_newest
group by all
