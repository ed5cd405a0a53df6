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
