//go:build pages

package week

import (
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tidemark/reports/style"
	"tidemark/reports/week/draw"
	"tidemark/reports/week/sample"
)

var inGallery = regexp.MustCompile(` (id|aria-labelledby|tabindex)="[^"]*"|href="#[^"]*"`)

// Gallery is one page of everything small: the palette, every mark, tag, sign and tile, and each section in every shape that the weeks of the
// samples give it.
func Gallery() (string, error) {
	templates, err := template.ParseFS(sections, "sections/*.html")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gallery</title><style>` + pageStyle() +
		`.swatches{display:flex;flex-wrap:wrap;gap:var(--s2);font-size:var(--t1)}.swatches i{display:block;width:6rem;height:2rem;border:1px solid var(--axis)}.small{border:1px solid var(--grid);padding:0 var(--s3);margin:var(--s3) 0}` +
		`</style></head><body>` + draw.Hatch + `<main><h1>Gallery of the page of a week</h1>`)
	out.WriteString(`<h2>Colours</h2><div class="swatches">`)
	for _, name := range regexp.MustCompile(`(--[a-z0-9-]+): #`).FindAllStringSubmatch(style.Sheet[:strings.Index(style.Sheet, "@media")], -1) {
		fmt.Fprintf(&out, `<span><i style="background:var(%s)"></i>%[1]s</span>`, name[1])
	}
	out.WriteString(`</div><h2>Type</h2>`)
	for i := 1; i <= 7; i++ {
		fmt.Fprintf(&out, `<p style="font-size:var(--t%d)">t%[1]d: 41.0`+narrow+`requests/s</p>`, i)
	}
	out.WriteString(`<h2>Tiles and signs</h2><dl class="tiles">`)
	for _, t := range []tile{
		{"A plain one", "41.0/s", "busiest five minutes", false, sign{"▲", "up ", ""}, "from 39.6"}, {"Good", "$2.19", "2.16 to 2.21", false, sign{"▼", "down ", "good"}, "from $2.27"},
		{"Bad", "99.74" + narrow + "%", "99.71 to 99.77", false, sign{"▼", "down ", "bad"}, "from 99.86" + narrow + "%"}, {"Not told", "1.04×", "1.02 to 1.05", false, sign{"~", "no difference that can be told: ", ""}, "1.02× last week"},
		{"What broke comes with a bar", minus + "17" + narrow + "%", "at capacity’s low end", true, sign{}, "12" + narrow + "% last week"}, {"Not known", unknown, "needs production’s metrics", false, sign{}, "first week"}} {
		if err := templates.ExecuteTemplate(&out, "tile", t); err != nil {
			return "", err
		}
	}
	out.WriteString(`</dl><h2>Rows, tags and marks</h2>`)
	marks := table{Class: "stack", Title: "Every kind of row", Caption: "A caption", Heads: []head{words("Row"), numbers("Number", "unit"), words("Words")}, Rows: []row{
		{"", []cell{{Text: "usual", Tag: originTag("measured")}, {Text: "1,234"}, {Text: "valid", Mark: ticked("valid")}}}, {"now", []cell{{Text: "today", Small: "today"}, {Text: "12", Small: "9 to 15"}, {Text: "holds"}}},
		{"broken", []cell{{Text: "broken", Mark: crossed("broke")}, {Text: unknown}, {Text: "invalid", Mark: crossed("invalid")}}}, {"lost", []cell{{Text: "dominated", Tag: originTag("predicted")}, {Text: "0"}, {Text: "c0ffee", Code: true}}}}}
	if err := templates.ExecuteTemplate(&out, "table", marks); err != nil {
		return "", err
	}
	weeks := sample.All()
	for _, p := range parts {
		seen := map[string]bool{}
		fmt.Fprintf(&out, "<h2>%s</h2>", p.name)
		for _, name := range slices.Sorted(maps.Keys(weeks)) {
			view, finding, err := p.view(newFacts(weeks[name]))
			if err != nil {
				return "", err
			}
			html, err := execute(templates, p.file, view)
			if err != nil {
				return "", err
			}
			if text := inGallery.ReplaceAllString(string(html), ""); !seen[finding] {
				seen[finding] = true
				fmt.Fprintf(&out, `<h3>%s</h3><div class="small">%s</div>`, name, text)
			}
		}
	}
	out.WriteString(`</main></body></html>`)
	return out.String(), nil
}
