package week

import (
	"fmt"

	"tidemark/analysis/week"
	"tidemark/reports/week/draw"
)

// Picture is a chart of the page, for a mail or a chat that shows no page.
type Picture struct {
	Name string // of its file
	PNG  []byte // at most plot.MostBytes
}

// pictureWidth is twice that of the page's charts, pixels.
const pictureWidth = 1920

// Pictures are three charts of the page: GPUs needed, the week's demand, and the forecast; of a service without a forecast the shape. A chart of which
// the report has nothing to draw is left out.
func Pictures(r *week.Report) (all []Picture, err error) {
	last, name := draw.Forecast, "forecast.png"
	if len(r.Forecast.Ahead) == 0 {
		last, name = draw.HeatMap, "shape.png"
	}
	for _, chart := range []struct {
		name string
		draw func(*week.Report) (draw.Figure, error)
	}{{"need.png", draw.Need}, {"demand.png", draw.Demand}, {name, last}} {
		figure, err := chart.draw(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", chart.name, err)
		}
		if figure.Wide == "" {
			continue
		}
		picture, err := figure.PNG(pictureWidth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", chart.name, err)
		}
		all = append(all, Picture{chart.name, picture})
	}
	return all, nil
}
