-- Each profile's shares of kernel time add up to 1, 'other' included. One row per profile where they do not.
--
-- group: trust
-- source_name   the profile
-- share_ratio   what they add to
-- has_other     'other' is among them
select
    source_name,
    sum(share_ratio) as share_ratio,
    bool_or(category = 'other') as has_other
from marts.kernel_shares
group by source_name
having not coalesce(abs(sum(share_ratio) - 1) <= 1e-9, false) or not bool_or(category = 'other')
