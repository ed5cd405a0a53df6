-- Whoever asks the same is told the same: no two rehearsed answers of one key differ.
-- group: trust
-- answer_key      what they follow from
-- answers         how many there are
-- low_rate_per_s  the smallest rate that was said, requests per second
-- high_rate_per_s  the largest
select
    answer_key,
    count(*) as answers,
    min(rate_per_s) as low_rate_per_s,
    max(rate_per_s) as high_rate_per_s
from marts.answers
where answer_key is not null
group by answer_key
having count(distinct (outcome, round(rate_per_s, 9), round(rate_low_per_s, 9), round(rate_high_per_s, 9))) > 1
