-- The band in which 90 % of measured times lie around their prediction. `band_ratio` is that of macros.deployment: the engine's, that of
-- calibrated constants where a calibration was made, and a wider one for experts without a kernel table.
-- group: model

-- The lower end of the band in which 90 % of measured times lie around their prediction, seconds.
--   select macros.band_low(10e-3, 0.25)
create macro macros.band_low(predicted, band_ratio) as
    predicted / (1 + band_ratio);

-- The upper end of that band, seconds.
--   select macros.band_high(10e-3, 0.25)
create macro macros.band_high(predicted, band_ratio) as
    predicted * (1 + band_ratio);

-- Whether a measured time lies in that band of its prediction, both in seconds.
--   select macros.is_in_band(11e-3, 10e-3, 0.25)
create macro macros.is_in_band(measured, predicted, band_ratio) as
    measured between macros.band_low(predicted, band_ratio) and macros.band_high(predicted, band_ratio);
