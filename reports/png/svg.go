package png

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
)

// element of a drawing. Text lies in elements without a name.
type element struct {
	name       string
	attributes map[string]string
	children   []*element
	text       string
}

// known are the elements that are drawn, or that draw nothing by themselves.
var known = map[string]bool{"svg": true, "g": true, "defs": true, "clipPath": true, "path": true, "rect": true, "circle": true, "ellipse": true,
	"line": true, "polyline": true, "polygon": true, "text": true, "tspan": true, "title": true, "desc": true, "pattern": true}

func parse(svg string) (*element, error) {
	decoder := xml.NewDecoder(strings.NewReader(svg))
	root := &element{}
	open := []*element{root}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("svg: %w", err)
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			e, err := newElement(t)
			if err != nil {
				return nil, err
			}
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.children = append(top.children, &element{text: string(t)})
		}
	}
	for _, e := range root.children {
		if e.name == "svg" {
			return e, nil
		}
	}
	return nil, errors.New("svg: there is no <svg>")
}

func newElement(t xml.StartElement) (*element, error) {
	e := &element{name: t.Name.Local, attributes: map[string]string{}}
	if !known[e.name] {
		return nil, fmt.Errorf("svg: element <%s> cannot be drawn", e.name)
	}
	for _, a := range t.Attr {
		if a.Name.Local != "style" {
			e.attributes[a.Name.Local] = strings.TrimSpace(a.Value)
		}
	}
	for _, a := range t.Attr { // a style wins over attributes
		if a.Name.Local == "style" {
			maps.Copy(e.attributes, declarations(a.Value))
		}
	}
	if e.name == "pattern" && e.attributes["id"] != "hatch" {
		return nil, fmt.Errorf("svg: element <pattern> with id %q cannot be drawn: only hatch is known", e.attributes["id"])
	}
	return e, nil
}

func declarations(css string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(css, ";") {
		if key, value, found := strings.Cut(part, ":"); found {
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return out
}

type box struct{ x, y, width, height float64 }

func (e *element) viewBox() (box, error) {
	said := e.attributes["viewBox"]
	if said == "" {
		said = "0 0 " + e.attributes["width"] + " " + e.attributes["height"]
	}
	n, err := numbers(said)
	if err != nil || len(n) != 4 || n[2] <= 0 || n[3] <= 0 {
		return box{}, fmt.Errorf("svg: viewBox %q: not four numbers with a width and a height", said)
	}
	return box{n[0], n[1], n[2], n[3]}, nil
}

// inherited are the attributes that children take over.
var inherited = []string{"fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset",
	"stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "visibility"}

// classes are the rules of the pages' stylesheet for drawings (monday.md), without "svg .". A text is 13 px and soft unless it says more.
var classes = map[string]map[string]string{
	"s": bold("ink"), "m": bold("measured"), "p": bold("predicted"), "x": bold("bad"), "g": bold("good"), "d": bold("on-q-deep"), "o": bold("on-q"),
	"i": {"fill": "var(--ink)"},
	"h": {"paint-order": "stroke", "stroke": "var(--ground)", "stroke-width": "4px", "stroke-linejoin": "round"},
}

func bold(name string) map[string]string {
	return map[string]string{"fill": "var(--" + name + ")", "font-weight": "600"}
}

// style is what holds for an element, by attribute.
type style map[string]string

func initial() style {
	return style{"fill": "#000", "stroke": "none", "stroke-width": "1", "font-size": "13", "stroke-linecap": "butt", "stroke-linejoin": "miter",
		"stroke-miterlimit": "4", "opacity": "1", "alpha": "1"}
}

// style is the parent's with what the element says itself. Opacity is of the element and what it contains: it is multiplied down.
func (e *element) style(parent style) style {
	out := maps.Clone(parent)
	for _, key := range inherited {
		if value := e.attributes[key]; value != "" && value != "inherit" {
			out[key] = value
		}
	}
	for class := range strings.FieldsSeq(e.attributes["class"]) {
		maps.Copy(out, classes[class])
	}
	if own := e.attributes["opacity"]; own != "" {
		out["alpha"] = strconv.FormatFloat(out.number("alpha", 1)*style{"opacity": own}.number("opacity", 1), 'g', -1, 64)
	}
	return out
}

// number reads a length or a share; px is dropped.
func (s style) number(key string, otherwise float64) float64 {
	text := strings.TrimSuffix(strings.TrimSpace(s[key]), "px")
	if share, isPercent := strings.CutSuffix(text, "%"); isPercent {
		if v, err := strconv.ParseFloat(share, 64); err == nil {
			return v / 100
		}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return otherwise
}

// children draws what an element contains, in order.
func (p *painter) children(e *element, s style, at matrix, clips []clip) error {
	for _, child := range e.children {
		if child.name == "" {
			continue
		}
		if err := p.element(child, s, at, clips); err != nil {
			return err
		}
	}
	return nil
}

func (p *painter) element(e *element, parent style, at matrix, clips []clip) error {
	switch e.name {
	case "defs", "clipPath", "title", "desc", "pattern":
		return nil
	case "tspan":
		return fmt.Errorf("svg: element <tspan> outside of a text")
	case "svg":
		return fmt.Errorf("svg: element <svg> inside of another cannot be drawn")
	}
	for class := range strings.FieldsSeq(e.attributes["class"]) {
		if _, isKnown := classes[class]; !isKnown {
			return fmt.Errorf("svg: element <%s>: class %q is not known", e.name, class)
		}
	}
	if e.name == "text" && parent["fill"] == "#000" {
		parent = maps.Clone(parent)
		parent["fill"] = "var(--soft)"
	}
	s := e.style(parent)
	moved, err := transformed(at, e.attributes["transform"])
	if err != nil {
		return fmt.Errorf("svg: element <%s>: %w", e.name, err)
	}
	if said := e.attributes["clip-path"]; said != "" && said != "none" {
		found, err := p.clip(said, moved)
		if err != nil {
			return fmt.Errorf("svg: element <%s>: %w", e.name, err)
		}
		clips = append(clips[:len(clips):len(clips)], found)
	}
	if s["visibility"] == "hidden" || e.attributes["display"] == "none" {
		return nil
	}
	switch e.name {
	case "g":
		return p.children(e, s, moved, clips)
	case "text":
		err = p.text(e, s, moved, clips)
	default:
		err = p.shape(e, s, moved, clips)
	}
	if err != nil {
		return fmt.Errorf("svg: element <%s>: %w", e.name, err)
	}
	return nil
}

// matrix maps x, y to a*x + c*y + e, b*x + d*y + f.
type matrix [6]float64

func (m matrix) on(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1],
		m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5],
	}
}

// size is by how much lengths grow.
func (m matrix) size() float64 { return math.Sqrt(math.Abs(m[0]*m[3] - m[1]*m[2])) }

func transformed(at matrix, said string) (matrix, error) {
	for rest := strings.TrimSpace(said); rest != ""; rest = strings.TrimLeft(rest, " ,") {
		name, more, isOpen := strings.Cut(rest, "(")
		inside, after, isClosed := strings.Cut(more, ")")
		n, err := numbers(inside)
		if !isOpen || !isClosed || err != nil || len(n) == 0 {
			return at, fmt.Errorf("transform %q: not understood", said)
		}
		step, isKnown := stepOf(strings.TrimSpace(name), n)
		if !isKnown {
			return at, fmt.Errorf("transform %q: not understood", said)
		}
		at, rest = at.times(step), strings.TrimSpace(after)
	}
	return at, nil
}

func stepOf(name string, n []float64) (matrix, bool) {
	switch {
	case name == "matrix" && len(n) == 6:
		return matrix(n), true
	case name == "translate" && len(n) == 1:
		return matrix{1, 0, 0, 1, n[0], 0}, true
	case name == "translate" && len(n) == 2:
		return matrix{1, 0, 0, 1, n[0], n[1]}, true
	case name == "scale" && len(n) == 1:
		return matrix{n[0], 0, 0, n[0], 0, 0}, true
	case name == "scale" && len(n) == 2:
		return matrix{n[0], 0, 0, n[1], 0, 0}, true
	case name == "rotate" && (len(n) == 1 || len(n) == 3):
		sin, cos := math.Sincos(n[0] * math.Pi / 180)
		turn := matrix{cos, sin, -sin, cos, 0, 0}
		if len(n) == 3 {
			turn = matrix{1, 0, 0, 1, n[1], n[2]}.times(turn).times(matrix{1, 0, 0, 1, -n[1], -n[2]})
		}
		return turn, true
	}
	return matrix{}, false
}
