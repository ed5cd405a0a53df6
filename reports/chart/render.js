// Runs inside goja after ECharts has been loaded. Options come as JSON, so no string in them can be code; the few
// functions that a chart needs are made here.
(function (echarts) {
  'use strict';

  function labelTicks(axis) {
    if (!axis.ticks) { return; }
    var texts = {}, places = [];
    axis.ticks.forEach(function (tick) { texts[tick.at] = tick.text; places.push(tick.at); });
    axis.axisTick = { customValues: places };
    axis.splitLine.customValues = places;
    axis.axisLabel.customValues = places;
    axis.axisLabel.formatter = function (value) { return texts[value] === undefined ? '' : texts[value]; };
    delete axis.ticks;
  }

  // A template such as '{b}' would be filled in twice where the text itself looks like one.
  function literalLabels(series) {
    if (series.markLine) { series.markLine.label.formatter = function (line) { return line.name; }; }
    series.data.forEach(function (datum) {
      if (!datum.label) { return; }
      var text = datum.label.formatter;
      datum.label.formatter = function () { return text; };
    });
  }

  // There is no canvas to measure with, and the reader's font is unknown: a little too wide is right, because names
  // that are taken for narrower than they are run into each other.
  function measureText(text, font) {
    var size = parseFloat((/(\d+(\.\d+)?)px/.exec(font || '') || [0, 12])[1]);
    var width = 0;
    Array.from(String(text)).forEach(function (character) {
      var code = character.codePointAt(0);
      if (code >= 0x2e80) { width += 1; }
      else if ('iIl.,:;\'|!()[]{} '.indexOf(character) >= 0) { width += 0.36; }
      else if ('mwMW%@'.indexOf(character) >= 0) { width += 0.92; }
      else { width += character >= 'A' && character <= 'Z' ? 0.7 : 0.6; }
    });
    return { width: width * size };
  }
  echarts.setPlatformAPI({ measureText: measureText });

  return function (json, width, height) {
    var option = JSON.parse(json);
    labelTicks(option.xAxis);
    labelTicks(option.yAxis);
    option.legend.selectedMode = false;
    option.series.forEach(literalLabels);
    var chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
    try {
      chart.setOption(option);
      return chart.renderToSVGString();
    } finally {
      chart.dispose();
    }
  };
})
