// Runs inside goja after ECharts has been loaded. Options come as JSON, so no string in them can be code. There is no
// text to be measured: a plate's texts are not ECharts'.
(function (echarts) {
  'use strict';

  return function (json, width, height) {
    var chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
    try {
      chart.setOption(JSON.parse(json));
      return chart.renderToSVGString();
    } finally {
      chart.dispose();
    }
  };
})
