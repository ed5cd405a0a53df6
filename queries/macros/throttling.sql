-- What holds a GPU's clock down, from the bits that NVML reports (nvml.h, clocks event reasons; dcgm-exporter and nvidia-smi pass them on).
-- Idle (0x1) and clocks that the user set (0x2) are not throttling.
-- group: server

-- The causes in words; null where nothing is reported: 'heat' (0x20 and 0x40), 'power' (the cap 0x4, the power brake 0x80), 'hardware' (0x8), 'other'.
--   select macros.throttle_causes(64)
create macro macros.throttle_causes(bits) as
    case
        when bits is not null then list_filter(
            [
                case when bits::ubigint & 96 <> 0 then 'heat' end,
                case when bits::ubigint & 132 <> 0 then 'power' end,
                case when bits::ubigint & 8 <> 0 then 'hardware' end,
                case when bits::ubigint & ~239::ubigint <> 0 then 'other' end
            ],
            lambda cause: cause is not null
        )
    end;
