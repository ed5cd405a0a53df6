// Package plot makes of the rows of an answer the options with which ECharts draws them, and carries ECharts itself for the
// browser.
//
//	plot.go     what is asked, and the options
//	axis.go     the values of a column as places on an axis
//	echarts.go  the JavaScript file
//
// The options are those of go-echarts, as JSON and nothing else: its renderer is not used, because it loads scripts from
// another site and turns texts into code. No text of the data is a template, HTML or JavaScript here: tooltips are drawn as
// text. Colours are the page's.
//
// It draws rows as they are. It computes no figure: rows that share a place are refused, and the query is to aggregate them.
package plot
