// Package draw makes the charts of the page of a week. Each function takes a whole report and gives one figure: a title
// that states the finding, a line that says how to read it, and the drawing at two widths.
//
//	draw.go      Figure, and what a page needs around the drawings
//	sheet.go     one drawing in the making: texts that touch nothing, names at the ends of lines, notes above the plot
//	hourly.go    what all charts over the hours of a week have in common
//	words.go     numbers, hours and dates as the page writes them
//	widths.go    how wide a text is at most
//	need.go demand.go heatmap.go capacity.go felt.go steps.go cost.go forecast.go   a chart each
//
// reports/plot draws every mark; every text is placed here, at places that are worked out from the grid. It refuses to
// fill holes: an hour without data breaks each line and is hatched. A report without the figures of a chart gives an empty
// Figure.
package draw

import "tidemark/reports/plot"

// Figure is a chart with its words. An empty one says that the report has nothing to draw.
type Figure struct {
	Title  string      // the finding: at most 90 characters, no full stop
	Soft   string      // what, unit, n, interval, how to read
	Label  string      // for who cannot see the drawing
	Wide   string      // SVG of 960 pixels
	Narrow string      // SVG of 358 pixels, for a phone
	plate  *plot.Plate // of the wide drawing
}

// PNG is the wide drawing of a figure that is not empty, as a picture so many pixels wide.
func (f Figure) PNG(width int) ([]byte, error) { return f.plate.PNG(width) }

// Hatch is the pattern of what is missing. A page with drawings holds it once.
const Hatch = `<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" stroke="var(--missing)" stroke-width="3"/></pattern></defs></svg>`

// plan is a figure whose drawings are not made yet. An empty one has nothing to draw.
type plan struct {
	Figure
	on func(s *sheet)
}

// The widths of the two drawings, pixels.
const wide, narrow = 960, 358

func (p plan) drawn() (Figure, error) {
	if p.on == nil {
		return Figure{}, nil
	}
	var err error
	p.plate = laidOut(wide, p.on).plate()
	if p.Wide, err = p.plate.SVG(p.Label); err != nil {
		return Figure{}, err
	}
	p.Narrow, err = laidOut(narrow, p.on).plate().SVG(p.Label)
	return p.Figure, err
}
