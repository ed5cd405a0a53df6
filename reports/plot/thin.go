package plot

import "math"

// thin keeps of a line with more points than two a pixel what is seen.
func thin(s Series, width int) []Point {
	if len(s.Points) <= 2*width {
		return s.Points
	}
	return thinLine(s.Points, max(width, 1))
}

// thinLine keeps of each bin of neighbours the lowest and the highest, in their order, so that no peak is lost.
// A bin without any value stays a gap.
func thinLine(points []Point, bins int) []Point {
	var out []Point
	for bin := range bins {
		part := points[bin*len(points)/bins : (bin+1)*len(points)/bins]
		low, high := -1, -1
		for i, p := range part {
			if !isFinite(p.Y) {
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
			out = append(out, Point{X: part[0].X, Y: math.NaN()})
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
	if len(points) <= columns*rows/8 {
		return points
	}
	lowX, highX, lowY, highY := bounds(points)
	cells := make([]Point, columns*rows)
	for _, p := range points {
		if !p.isFinite() {
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
		if !p.isFinite() {
			continue
		}
		lowX, highX = math.Min(lowX, p.X), math.Max(highX, p.X)
		lowY, highY = math.Min(lowY, p.Y), math.Max(highY, p.Y)
	}
	return lowX, highX, lowY, highY
}
