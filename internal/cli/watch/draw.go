package watch

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"tidemark/internal/show"
	"tidemark/replay"
	"tidemark/reports/plot"
)

//go:embed page.html
var pageText string

//go:embed figures.html
var figuresText string

var figures = template.Must(template.New("figures").Funcs(template.FuncMap{
	"duration": func(d time.Duration) string { return show.Duration(d.Seconds()) },
	"count":    show.Count[int64],
	"rate":     show.Figures,
	"known":    func(x float64) bool { return !math.IsNaN(x) },
	"passed":   func(d time.Duration) string { return d.Round(time.Second).String() },
	"instant":  show.Instant,
}).Parse(figuresText))

// script is the page's own, between its tags.
var script = func() string {
	_, from, _ := strings.Cut(pageText, "<script>")
	text, _, _ := strings.Cut(from, "</script>")
	return text
}()

// policy lets nothing in but what the page holds, and its own figures.
var policy = func() string {
	digest := sha256.Sum256([]byte(script))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		html, err := p.now.Load().page()
		p.answer(w, html, err)
	})
	mux.HandleFunc("GET /figures", func(w http.ResponseWriter, r *http.Request) {
		html, err := p.now.Load().figures()
		p.answer(w, html, err)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Another name for this machine is a page of another site that made it up.
		if host, _, err := net.SplitHostPort(r.Host); err != nil || host != "127.0.0.1" && host != "localhost" {
			http.Error(w, "ask by the name 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (p *Page) answer(w http.ResponseWriter, html []byte, err error) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(html)
}

// render draws a board.
func render(b *board) ([]byte, error) {
	var html bytes.Buffer
	chart := b.chart()
	err := figures.Execute(&html, map[string]any{"B": b, "P": b.Progress, "Asked": b.Last.asked, "Sent": b.Last.sent, "HasChart": !chart.IsEmpty(),
		"Wide": template.HTML(chart.SVG(chartLabel, plot.Wide)), "Narrow": template.HTML(chart.SVG(chartLabel, plot.Narrow))})
	return html.Bytes(), err
}

const chartLabel = "Requests a second as asked and as sent, time per output token beside its prediction, and requests in flight, over the run so far"

// chart is the run so far, in strips that share the time.
func (b *board) chart() plot.Chart {
	asked := plot.Look{Colour: "var(--axis)", Class: "i"}
	measured := plot.Look{Colour: "var(--measured)", Class: "m"}
	predicted := plot.Look{Colour: "var(--predicted)", Class: "p", Dash: []float64{6, 4}}
	strip := func(name string, series ...plot.Series) (strips []plot.Strip) {
		s := plot.Strip{Y: plot.Axis{Name: name}, Height: 110, Series: series}
		if (plot.Chart{Strips: []plot.Strip{s}}).IsEmpty() {
			return nil
		}
		return []plot.Strip{s}
	}
	c := plot.Chart{X: plot.Axis{Name: "seconds since the start"}}
	c.Strips = append(c.Strips, strip("requests/s",
		b.series("asked", asked, func(m moment) float64 { return m.asked }),
		b.series("sent", measured, func(m moment) float64 { return m.sent }))...)
	ms := func(d time.Duration) float64 {
		if d == 0 {
			return math.NaN() // no token came, or nothing is predicted: a gap
		}
		return 1e3 * d.Seconds()
	}
	tpot := "TPOT, ms"
	if b.Progress.Model != "" {
		tpot = "TPOT of " + b.Progress.Model + ", ms"
	}
	c.Strips = append(c.Strips, strip(tpot,
		b.series("predicted", predicted, func(m moment) float64 { return ms(m.PredictedTPOT) }),
		b.series("measured", measured, func(m moment) float64 { return ms(m.TPOT) }))...)
	c.Strips = append(c.Strips, strip("in flight", b.series("", measured, func(m moment) float64 { return float64(m.InFlight) }))...)
	return c
}

func (b *board) series(name string, look plot.Look, of func(moment) float64) plot.Series {
	s := plot.Series{Name: name, Look: look}
	for _, m := range b.Points {
		s.Points = append(s.Points, plot.Point{X: m.Elapsed.Seconds(), Y: of(m)})
	}
	return s
}

// read takes rates over the last seconds: those of one second jump.
func (p *Page) read(now replay.Progress) moment {
	m := moment{Progress: now, asked: math.NaN(), sent: math.NaN()}
	from := replay.Progress{}
	if len(p.recent) > 0 {
		from = p.recent[0].Progress
	}
	if span := (now.Elapsed - from.Elapsed).Seconds(); span > 0 {
		m.sent = float64(now.Sent-from.Sent) / span
		if p.asked != nil {
			m.asked = (p.asked.before(now.Elapsed) - p.asked.before(from.Elapsed)) / span
		}
	}
	if p.recent = append(p.recent, m); len(p.recent) > rateOver {
		p.recent = p.recent[1:]
	}
	return m
}
