package chart

import "math"

// maxPoints is how many points of one series are drawn one by one; more are binned, never dropped.
const maxPoints = 5000

// thin leaves small series alone and bins large ones by the room there is.
func thin(s Series, size Size) []Point {
	if len(s.Points) <= maxPoints {
		return s.Points
	}
	if s.Kind == Points {
		return thinCloud(s.Points, max(size.Width/8, 1), max(size.Height/8, 1))
	}
	return thinLine(s.Points, max(size.Width, 1))
}

// thinLine keeps of each bin of neighbours the lowest and the highest, in their order, so that no peak is lost.
// A bin without any value stays a gap.
func thinLine(points []Point, bins int) []Point {
	var out []Point
	for bin := range bins {
		part := points[bin*len(points)/bins : (bin+1)*len(points)/bins]
		low, high := -1, -1
		for i, p := range part {
			if math.IsNaN(p.Y) || math.IsInf(p.Y, 0) {
				continue
			}
			if low < 0 || p.Y < part[low].Y {
				low = i
			}
			if high < 0 || p.Y > part[high].Y {
				high = i
			}
		}
		switch {
		case low < 0 && len(part) > 0:
			out = append(out, Gap(part[0].X))
		case low < 0:
		case low == high:
			out = append(out, part[low])
		default:
			out = append(out, part[min(low, high)], part[max(low, high)])
		}
	}
	return out
}

// thinCloud puts points into the cells of a grid; each cell that holds any becomes one point at their mean, with
// their weights added.
func thinCloud(points []Point, columns, rows int) []Point {
	lowX, highX, lowY, highY := bounds(points)
	cells := make([]Point, columns*rows)
	for _, p := range points {
		if !isFinite(p) {
			continue
		}
		column := cell(p.X, lowX, highX, columns)
		row := cell(p.Y, lowY, highY, rows)
		c, weight := &cells[row*columns+column], math.Max(p.Weight, 1)
		c.X += p.X * weight
		c.Y += p.Y * weight
		c.Weight += weight
	}
	var out []Point
	for _, c := range cells {
		if c.Weight > 0 {
			out = append(out, Point{X: c.X / c.Weight, Y: c.Y / c.Weight, Weight: c.Weight})
		}
	}
	return out
}

// cell is the number of the cell, from 0, in which v lies; the largest value belongs to the last cell.
func cell(v, low, high float64, cells int) int {
	if high <= low {
		return 0
	}
	return min(int((v-low)/(high-low)*float64(cells)), cells-1)
}

// bounds are the smallest and largest coordinates of all points that can be drawn.
func bounds(points []Point) (lowX, highX, lowY, highY float64) {
	lowX, lowY, highX, highY = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		if !isFinite(p) {
			continue
		}
		lowX, highX = math.Min(lowX, p.X), math.Max(highX, p.X)
		lowY, highY = math.Min(lowY, p.Y), math.Max(highY, p.Y)
	}
	return lowX, highX, lowY, highY
}

// isFinite is false for a gap: SVG has no number for NaN or infinity.
func isFinite(p Point) bool {
	return !math.IsNaN(p.X) && !math.IsNaN(p.Y) && !math.IsInf(p.X, 0) && !math.IsInf(p.Y, 0)
}
