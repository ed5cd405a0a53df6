package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemark/internal/cli/tables"
	"tidemark/internal/hint"
	"tidemark/internal/serve/plot"
	"tidemark/internal/serve/worker"
	"tidemark/internal/show"
	"tidemark/queries"
)

// mostPlotBytes of an answer are held while a plot is made of it.
const mostPlotBytes = 32 << 20

// toldPlot is the JSON that asks for a plot: a query, and which of its columns are drawn.
type toldPlot struct {
	toldErrand
	Kind   string `json:"kind"`
	X      string `json:"x"`
	Y      string `json:"y"`
	Series string `json:"series"`
	Value  string `json:"value"`
}

// servePlot answers POST /v1/plot.
func (s *Server) servePlot(w http.ResponseWriter, r *http.Request, asker string) {
	began := time.Now()
	told, errand, err := readPlot(w, r)
	if err != nil {
		s.refuse(w, err, began)
		return
	}
	made, head, err := s.plotOf(r.Context(), asker, told, errand)
	var body []byte
	if err == nil {
		body, err = json.Marshal(made)
	}
	if err != nil {
		s.refuse(w, s.explain(r.Context(), err), began)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	for _, name := range []string{"Tidemark-Snapshot", "Tidemark-Cut"} {
		if said := head.Get(name); said != "" {
			h.Set(name, said)
		}
	}
	_, _ = w.Write(body)
	s.counters.count(outcomeOK, time.Since(began), int64(made.Points), int64(len(body)))
}

func readPlot(w http.ResponseWriter, r *http.Request) (told toldPlot, errand worker.Errand, err error) {
	const example = `send {"sql": "from marts.slo", "kind": "line", "x": "…", "y": "…"}; "series" may name a column, and a heatmap needs "value"`
	body, err := readBody(w, r)
	if err == nil {
		err = decode(body, &told, example)
	}
	if err == nil {
		errand, err = told.errand(example)
	}
	isMap := told.Kind == "heatmap"
	switch {
	case err != nil:
		return told, errand, err
	case !slices.Contains(plot.Kinds, told.Kind):
		return told, errand, bad(fmt.Sprintf("kind is %q", told.Kind), "it is one of "+strings.Join(plot.Kinds, ", "))
	case told.X == "" || told.Y == "" || isMap && told.Value == "":
		return told, errand, bad("a column is not named", example)
	case isMap && told.Series != "" || !isMap && told.Value != "":
		return told, errand, bad("\"value\" is for a heatmap, and \"series\" for the other kinds", "leave it out")
	}
	return told, errand, nil
}

// plotOf runs the query as any other and makes the plot of its first rows.
func (s *Server) plotOf(ctx context.Context, asker string, told toldPlot, errand worker.Errand) (made plot.Plot, head http.Header, err error) {
	errand.Form, errand.MostRows, errand.MostBytes = worker.Arrow, s.config.MostRows, min(s.config.MostBytes, mostPlotBytes)
	for _, most := range []int64{plot.MostRows, errand.MostRows} {
		if most > 0 && (errand.AskedRows == 0 || errand.AskedRows > most) {
			errand.AskedRows = most // known ahead, so the rest is not made
		}
	}
	got, err := s.collect(ctx, asker, errand)
	var failure *worker.Failure
	if errors.As(err, &failure) && failure.Kind == worker.Limit {
		return made, nil, &problem{status: http.StatusRequestEntityTooLarge, outcome: outcomeCut, hint: "ask only for the columns that are drawn",
			text: fmt.Sprintf("the rows of the plot have more than %s bytes", show.Count(errand.MostBytes))}
	}
	if err != nil {
		return made, nil, err
	}
	_, units, _, err := s.schemaNow(ctx, asker)
	if err != nil {
		return made, nil, err
	}
	columns, err := columnsIn(got.body.Bytes(), units)
	if err != nil {
		return made, nil, err
	}
	rows, err := told.rows(columns)
	if err == nil {
		made, err = plot.New(told.Kind, rows)
	}
	if hint.IsMisuse(err) {
		err = bad(err.Error(), hint.Of(err))
	}
	return made, got.header, err
}

// columnsIn reads an Arrow stream.
func columnsIn(stream []byte, units map[string]string) ([]plot.Column, error) {
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	var names []string
	for _, field := range reader.Schema().Fields() {
		names = append(names, field.Name)
	}
	var columns []plot.Column
	for _, name := range tables.Distinct(names) { // as in the JSON of /v1/sql
		columns = append(columns, plot.Column{Name: name, Unit: cmp.Or(units[name], queries.UnitOf(name, ""))})
	}
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range columns {
			for row := range int(batch.NumRows()) {
				columns[i].Values = append(columns[i].Values, worker.Cell(batch.Column(i), row))
			}
		}
	}
	return columns, reader.Err()
}

// rows are the columns that are asked for.
func (told toldPlot) rows(columns []plot.Column) (rows plot.Rows, err error) {
	column := func(role, name string) *plot.Column {
		var known []string
		for i := range columns {
			if columns[i].Name == name {
				return &columns[i]
			}
			known = append(known, columns[i].Name)
		}
		if name != "" && err == nil {
			err = bad(fmt.Sprintf("%s: the answer has no column %q", role, name), hint.Known("column", known, name))
		}
		return nil
	}
	x, y := column("x", told.X), column("y", told.Y)
	rows.Series, rows.Value = column("series", told.Series), column("value", told.Value)
	if err != nil {
		return rows, err
	}
	rows.X, rows.Y = *x, *y
	return rows, nil
}

// serveScript sends ECharts to anybody: a page cannot send a token with a script, and it holds nothing of the warehouse.
func serveScript(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	script := plot.Script
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
	} else if plain, err := plot.PlainScript(); err == nil {
		script = plain
	} else {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(script)
}
