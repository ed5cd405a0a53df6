package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What a drawing may consist of. Anything else is an error: nothing that loads, links or runs.
var (
	allowedElements   = set("svg g defs clipPath path rect circle ellipse line polyline polygon text tspan")
	allowedAttributes = set("d x y x1 y1 x2 y2 cx cy r rx ry width height points transform fill fill-opacity stroke " +
		"stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit " +
		"opacity text-anchor dominant-baseline clip-path id viewBox")
	// droppedAttributes say nothing that a still picture needs.
	droppedAttributes = set("class pointer-events space xmlns xlink version baseProfile")
)

var (
	generatedID  = regexp.MustCompile(`^zr\d+-`)
	generatedURL = regexp.MustCompile(`^url\(#zr\d+-([A-Za-z0-9-]+)\)$`)
	longDecimal  = regexp.MustCompile(`-?\d+\.\d+(e-?\d+)?`)
	// unitCircle is how ECharts draws every round marker; two arcs scaled by a matrix.
	unitCircle    = "M1 0A1 1 0 1 1 1 -0.1A1 1 0 0 1 1 0"
	translation   = regexp.MustCompile(`^translate\((-?[\d.]+) (-?[\d.]+)\)$`)
	uniformMatrix = regexp.MustCompile(`^matrix\(([\d.]+),0,0,([\d.]+),(-?[\d.]+),(-?[\d.]+)\)$`)
)

// clean rewrites what ECharts drew: only plain drawing passes, ids depend on the caller alone and not on how many
// charts were drawn before, numbers keep a tenth of a pixel, and the whole is labelled as an image.
func clean(drawn, id, label string, size Size) (string, error) {
	var out strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	skipped := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("chart: drawing: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			// Hover rules, which a still picture has no use for.
			if skipped > 0 || t.Name.Local == "style" {
				skipped++
				continue
			}
			if err := writeStart(&out, t, id, label, size); err != nil {
				return "", err
			}
		case xml.EndElement:
			if skipped > 0 {
				skipped--
				continue
			}
			name := t.Name.Local
			if name != "path" && name != "rect" {
				out.WriteString("</" + name + ">")
			}
		case xml.CharData:
			if text := string(t); skipped == 0 && strings.TrimSpace(text) != "" {
				out.WriteString(escape(text))
			}
		}
	}
}

// writeStart writes an opening tag with the attributes that are allowed. The root gets the id and the label, so that a screen reader
// reads what the chart shows instead of its shapes.
func writeStart(out *strings.Builder, t xml.StartElement, id, label string, size Size) error {
	name := t.Name.Local
	if !allowedElements[name] {
		return fmt.Errorf("chart: drawing: element %q is not plain drawing", name)
	}
	if name == "svg" {
		fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="%s" font-size="%s" fill="%s">`,
			size.Width, size.Height, escape(shorten(label, 1000)), font, tickSize, ink)
		return nil
	}
	attributes := map[string]string{}
	var order []string
	for _, a := range t.Attr {
		key := a.Name.Local
		if droppedAttributes[key] || strings.HasPrefix(key, "ecmeta_") {
			continue
		}
		if key == "style" {
			key = "font-size"
		} else if !allowedAttributes[key] {
			return fmt.Errorf("chart: drawing: attribute %q of %s is not plain drawing", key, name)
		}
		attributes[key] = value(a, id)
		if name == "text" && (key == "fill" && attributes[key] == ink || key == "font-size" && attributes[key] == tickSize) {
			continue // as the whole drawing has it
		}
		order = append(order, key)
	}
	if writeDot(out, name, attributes) {
		return nil
	}
	if name == "text" {
		order = place(attributes, order)
	}
	out.WriteString("<" + name)
	for _, key := range order {
		if attributes[key] != "" {
			fmt.Fprintf(out, ` %s="%s"`, key, escape(attributes[key]))
		}
	}
	if name == "path" || name == "rect" {
		out.WriteString("/>")
		return nil
	}
	out.WriteString(">")
	return nil
}

// place says where a text that is only moved stands, in half the length; x and y are what it is moved by beyond that.
func place(attributes map[string]string, order []string) []string {
	moved := translation.FindStringSubmatch(attributes["transform"])
	if moved == nil {
		return order
	}
	for i, key := range []string{"x", "y"} {
		from, _ := strconv.ParseFloat(moved[i+1], 64)
		by, _ := strconv.ParseFloat(attributes[key], 64)
		attributes[key] = roundTenth(strconv.FormatFloat(from+by, 'f', 2, 64))
	}
	order = slices.DeleteFunc(order, func(key string) bool { return key == "x" || key == "y" || key == "transform" })
	return append(order, "x", "y")
}

// writeDot writes a round marker as a circle, a third of the length.
func writeDot(out *strings.Builder, name string, attributes map[string]string) bool {
	matrix := uniformMatrix.FindStringSubmatch(attributes["transform"])
	if name != "path" || attributes["d"] != unitCircle || matrix == nil || matrix[1] != matrix[2] {
		return false
	}
	if outline := attributes["stroke"]; outline != "" && outline != "none" { // its width is scaled with the circle
		return false
	}
	fmt.Fprintf(out, `<circle cx="%s" cy="%s" r="%s" fill="%s"`, matrix[3], matrix[4], matrix[1], escape(attributes["fill"]))
	for _, key := range []string{"fill-opacity", "opacity", "clip-path"} {
		if v := attributes[key]; v != "" {
			fmt.Fprintf(out, ` %s="%s"`, key, escape(v))
		}
	}
	out.WriteString("/>")
	return true
}

// value is an attribute's value made safe and small. Ids and references to them become unique, because several charts are in one page and
// ECharts numbers its ids from 0 in each; any other url(...) is removed, so that nothing is loaded; coordinates are rounded.
func value(a xml.Attr, id string) string {
	switch a.Name.Local {
	case "style":
		return fontSizeOf(a.Value)
	case "id":
		return generatedID.ReplaceAllString(a.Value, id+"-")
	case "clip-path", "fill", "stroke":
		if url := generatedURL.FindStringSubmatch(a.Value); url != nil {
			return "url(#" + id + "-" + url[1] + ")"
		}
		if strings.Contains(a.Value, "url(") {
			return "none"
		}
	case "d", "points", "transform":
		if a.Value != unitCircle {
			return longDecimal.ReplaceAllStringFunc(a.Value, roundTenth)
		}
	}
	return a.Value
}

// fontSizeOf takes the one thing from a text's style that is not the whole drawing's.
func fontSizeOf(style string) string {
	for part := range strings.SplitSeq(style, ";") {
		if size, found := strings.CutPrefix(strings.TrimSpace(part), "font-size:"); found {
			return size
		}
	}
	return ""
}

// roundTenth rounds a coordinate to a tenth of a pixel, which nobody sees and which makes a page much smaller.
func roundTenth(number string) string {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	text := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if text == "-0" {
		return "0"
	}
	return text
}

// escape makes text safe in content and in double-quoted attributes, of XML and of HTML.
func escape(text string) string {
	return escaper.Replace(text)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// set is a set of the words in a text.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}
