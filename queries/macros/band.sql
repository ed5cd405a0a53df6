-- The band in which 90 % of measured times lie around their prediction. `band_ratio` is that of macros.deployment: the engine's, that of
-- calibrated constants where a calibration was made, and a wider one for experts without a kernel table.
-- group: model

create macro macros.band_low(predicted, band_ratio) as
    predicted / (1 + band_ratio);

create macro macros.band_high(predicted, band_ratio) as
    predicted * (1 + band_ratio);

create macro macros.is_in_band(measured, predicted, band_ratio) as
    measured between macros.band_low(predicted, band_ratio) and macros.band_high(predicted, band_ratio);
