package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// What a drawing may consist of. Anything else is an error: nothing that loads, links or runs.
var (
	allowedElements   = set("g defs clipPath path rect circle ellipse line polyline polygon")
	allowedAttributes = set("d x y x1 y1 x2 y2 cx cy r rx ry width height points transform fill fill-opacity stroke " +
		"stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit " +
		"opacity")
	// droppedAttributes say nothing that a still picture needs: its marks lie in their grid without a clip.
	droppedAttributes = set("class pointer-events clip-path id")
)

var (
	longDecimal = regexp.MustCompile(`-?\d+\.\d+(e-?\d+)?`)
	// unitCircle is how ECharts draws every round marker; two arcs scaled by a matrix.
	unitCircle = "M1 0A1 1 0 1 1 1 -0.1A1 1 0 0 1 1 0"
	// hatch is the page's own pattern, of what is missing: the one thing that a drawing may refer to.
	hatch         = "url(#hatch)"
	uniformMatrix = regexp.MustCompile(`^matrix\(([\d.]+),0,0,([\d.]+),(-?[\d.]+),(-?[\d.]+)\)$`)
)

// clean gives the inside of what ECharts drew: only plain drawing passes, and numbers keep a tenth of a pixel. What is
// written between elements is left out: the texts of a plate are not drawn by ECharts.
func clean(drawn string) (string, error) {
	var out strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(drawn))
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
			if isAround(t.Name) {
				continue
			}
			if err := writeStart(&out, t); err != nil {
				return "", err
			}
		case xml.EndElement:
			if name := t.Name.Local; !isAround(t.Name) && name != "path" && name != "rect" {
				out.WriteString("</" + name + ">")
			}
		}
	}
}

// isAround says whether an element is the drawing itself, or its hover rules, which a still picture has no use for.
func isAround(name xml.Name) bool { return name.Local == "svg" || name.Local == "style" }

// writeStart writes an opening tag with the attributes that are allowed.
func writeStart(out *strings.Builder, t xml.StartElement) error {
	name := t.Name.Local
	if !allowedElements[name] {
		return fmt.Errorf("chart: drawing: element %q is not plain drawing", name)
	}
	attributes := map[string]string{}
	var order []string
	for _, a := range t.Attr {
		key := a.Name.Local
		if droppedAttributes[key] || strings.HasPrefix(key, "ecmeta_") {
			continue
		}
		if !allowedAttributes[key] {
			return fmt.Errorf("chart: drawing: attribute %q of %s is not plain drawing", key, name)
		}
		attributes[key] = value(a)
		order = append(order, key)
	}
	if writeDot(out, name, attributes) {
		return nil
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
	for _, key := range []string{"fill-opacity", "opacity"} {
		if v := attributes[key]; v != "" {
			fmt.Fprintf(out, ` %s="%s"`, key, escape(v))
		}
	}
	out.WriteString("/>")
	return true
}

// value is an attribute's value made safe and small: any url(...) but the page's pattern is removed, so that nothing is
// loaded; coordinates are rounded.
func value(a xml.Attr) string {
	switch a.Name.Local {
	case "fill", "stroke":
		if strings.Contains(a.Value, "url(") && a.Value != hatch {
			return "none"
		}
	case "d", "points", "transform":
		if a.Value != unitCircle {
			return longDecimal.ReplaceAllStringFunc(a.Value, roundTenth)
		}
	}
	return a.Value
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
