//go:build duckdb_arrow

package serve_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
	"tidemark/internal/serve/plot"
)

type shownPlot struct {
	Label   string
	Points  int
	Options struct {
		UseUTC  bool
		Tooltip struct{ RenderMode string }
		XAxis   []struct {
			Name, Type string
			Data       []any
		}
		YAxis  []struct{ Name, Type string }
		Series []struct {
			Name, Type string
			Data       []struct {
				Value  []any
				Symbol string
			}
		}
		VisualMap struct{ Min, Max *float64 }
	}
}

// plotted is the plot of a query; columns are given as name, value.
func (s *served) plotted(t *testing.T, sql string, columns ...string) (shownPlot, string, *http.Response) {
	t.Helper()
	body := map[string]string{"sql": sql}
	for i := 0; i < len(columns); i += 2 {
		body[columns[i]] = columns[i+1]
	}
	asked := must.Get(json.Marshal(body))(t)
	response := must.Get(s.do("POST", "/v1/plot", bytes.NewReader(asked), "Content-Type", asJSON))(t)
	status, got := text(t, response)
	var shown shownPlot
	if status != 200 {
		t.Fatalf("%s %v: %d %s", sql, columns, status, got)
	}
	must.Do(t, json.Unmarshal([]byte(got), &shown))
	if shown.Options.Tooltip.RenderMode != "richText" || !shown.Options.UseUTC {
		t.Errorf("tooltips are drawn as %q, which makes HTML of texts", shown.Options.Tooltip.RenderMode)
	}
	return shown, got, response
}

func TestPlots(t *testing.T) {
	s := serving(t, nil)
	values := func(p shownPlot, series int) string {
		var all []any
		for _, mark := range p.Options.Series[series].Data {
			all = append(all, mark.Value)
		}
		return fmt.Sprint(all)
	}
	line, _, response := s.plotted(t, "select * from (values (3, 1.5), (1, 0.5), (2, null), (null, 9), (4, 'nan'::double)) as rows (seq, tpot_s)", "kind", "line", "x", "seq", "y", "tpot_s")
	if got, want := values(line, 0), "[[1 0.5] [2 <nil>] [3 1.5] [4 <nil>]]"; got != want {
		t.Errorf("a line has %s, want %s: in the order of x, with gaps", got, want)
	}
	if line.Options.Series[0].Data[2].Symbol != "circle" {
		t.Error("a point between two gaps has no mark")
	}
	if line.Points != 2 || line.Label != "tpot_s, s by seq, n = 2; 1 row without seq" || response.Header.Get("Tidemark-Snapshot") == "" {
		t.Errorf("got %d points, %q", line.Points, line.Label)
	}
	times, _, _ := s.plotted(t, "select timestamptz '1970-01-02 00:00:00.5+00' + to_days(i::int) as read_at, i::hugeint as n, 'run ' || i % 2 as run from range(4) as r (i)", "kind", "scatter", "x", "read_at", "y", "n", "series", "run")
	if x := times.Options.XAxis[0]; x.Type != "time" || x.Name != "read_at, UTC" || times.Options.Series[0].Type != "scatter" || times.Options.Series[1].Name != "run 1" {
		t.Errorf("a scatter over times has %+v", times.Options)
	}
	if got, want := values(times, 1), "[[1.728005e+08 1] [3.456005e+08 3]]"; got != want {
		t.Errorf("times: got %s, want %s milliseconds", got, want)
	}
	bars, _, _ := s.plotted(t, "select 'b' as name, -1 as n union all select 'b', -2", "kind", "bar", "x", "name", "y", "n")
	if got := fmt.Sprint(bars.Options.XAxis[0].Data, values(bars, 0)); got != "[b b][[0 -1] [1 -2]]" {
		t.Errorf("bars of one name: got %s, want one place for each row", got)
	}
	heat, _, _ := s.plotted(t, "select 16 - 8 * (i % 2) as batch, 'gpu ' || i // 2 as gpu, -1e0 - i as step_s from range(4) as r (i)", "kind", "heatmap", "x", "batch", "y", "gpu", "value", "step_s")
	if got := fmt.Sprint(heat.Options.XAxis[0].Data, values(heat, 0)); got != "[8 16][[1 0 -1] [0 0 -2] [1 1 -3] [0 1 -4]]" {
		t.Errorf("a heatmap has %s", got)
	}
	if scale := heat.Options.VisualMap; scale.Min == nil || scale.Max == nil || *scale.Min != -4 || *scale.Max != -1 {
		t.Errorf("the colours go from %v to %v, want -4 to -1", scale.Min, scale.Max)
	}
	name, unit := s.unitOnlyInTheSchema(t)
	none, _, _ := s.plotted(t, fmt.Sprintf("select 1 as x, 2 as %q limit 0", name), "kind", "line", "x", "x", "y", name)
	if got := none.Options.YAxis[0].Name; none.Points != 0 || got != name+", "+unit {
		t.Errorf("a plot of no rows has %d points and the axis %q, want none and the unit %s", none.Points, got, unit)
	}
	most, _, response := s.plotted(t, "from staging.million", "kind", "line", "x", "seq", "y", "ttft_s")
	if most.Points != plot.MostRows || response.Header.Get("Tidemark-Cut") != "the answer has more than the 10,000 rows that were asked for" {
		t.Errorf("got %d points and the header %q", most.Points, response.Header.Get("Tidemark-Cut"))
	}
}

// unitOnlyInTheSchema is a column whose name does not say its unit.
func (s *served) unitOnlyInTheSchema(t *testing.T) (name, unit string) {
	t.Helper()
	response := must.Get(s.do("GET", "/v1/schema", nil))(t)
	var schema struct {
		Relations []struct{ Columns []struct{ Name, Unit string } }
	}
	must.Do(t, json.NewDecoder(response.Body).Decode(&schema))
	response.Body.Close()
	for _, r := range schema.Relations {
		for _, c := range r.Columns {
			if c.Unit != "" && !strings.Contains(c.Name, "_") {
				return c.Name, c.Unit
			}
		}
	}
	t.Fatal("every unit is in a name")
	return "", ""
}

// What the data says is text, in every place where a plot shows it.
func TestTextsInAPlotStayTexts(t *testing.T) {
	s := serving(t, nil)
	for _, hostile := range []string{"</script><script>alert(1)</script>", "__f__function(){alert(1)}__f__", "<img src=x onerror=alert(1)>", "{a|b}", "__proto__"} {
		quoted := strings.ReplaceAll(hostile, `"`, `""`)
		query := fmt.Sprintf(`select '%[1]s' as "%[2]s", 1 as "n %[2]s"`, strings.ReplaceAll(hostile, "'", "''"), quoted)
		for _, columns := range [][]string{
			{"kind", "bar", "x", hostile, "y", "n " + hostile, "series", hostile},
			{"kind", "line", "x", hostile, "y", "n " + hostile},
			{"kind", "heatmap", "x", hostile, "y", hostile, "value", "n " + hostile},
		} {
			shown, raw, response := s.plotted(t, query, columns...)
			if shown.Options.XAxis[0].Data[0] != hostile || shown.Options.XAxis[0].Name != hostile {
				t.Errorf("%v: the axis has %+v, want the text as it is", columns, shown.Options.XAxis[0])
			}
			if strings.ContainsAny(raw, "<>") || response.Header.Get("Content-Type") != asJSON || response.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v: %s could be taken for HTML", columns, raw)
			}
		}
	}
}

func TestEachMistakeOfAPlot(t *testing.T) {
	s := serving(t, func(c *serve.Config) { c.MostBytes = 1 << 20 })
	for _, c := range []struct {
		body   string
		status int
		says   string
		advice string
	}{
		{`{"sql": "select 1 as a, 2 as b", "kind": "line", "x": "a", "y": "c"}`, 400, `y: the answer has no column "c"`, "a, b"},
		{`{"sql": "select 1 as a, 'x' as b", "kind": "line", "x": "a", "y": "b"}`, 400, `y: "b" holds no numbers`, "cast"},
		{`{"sql": "select 1 as a, 'x' as b", "kind": "heatmap", "x": "a", "y": "a", "value": "b"}`, 400, `value: "b" holds no numbers`, "cast"},
		{`{"sql": "select 1 as a from range(2)", "kind": "heatmap", "x": "a", "y": "a", "value": "a"}`, 400, `two rows have a "1" and a "1"`, "aggregate"},
		{`{"sql": "select 1 as a from range(2)", "kind": "bar", "x": "a", "y": "a", "series": "a"}`, 400, `two rows of a "1" have the same a`, "aggregate"},
		{`{"sql": "select i as a from range(16) as r (i)", "kind": "line", "x": "a", "y": "a", "series": "a"}`, 400, "16 values, more than 15", "fewer"},
		{`{"sql": "select 1 as a", "kind": "pie", "x": "a", "y": "a"}`, 400, `kind is "pie"`, "line, scatter, bar, heatmap"},
		{`{"sql": "select 1 as a", "kind": "line", "x": "a"}`, 400, "a column is not named", `"y"`},
		{`{"sql": "select 1 as a", "kind": "line", "x": "a", "y": "a", "value": "a"}`, 400, `"value" is for a heatmap`, "leave it out"},
		{`{"sql": "select 1 as a", "kind": "line", "x": "a", "y": 1}`, 400, `"y" is a number and not a text`, "send"},
		{`{"sql": "select 1 as a; drop table b", "kind": "line", "x": "a", "y": "a"}`, 400, "more than one statement", "one at a time"},
		{`{"sql": "select i as a, repeat('x', 1000) as b from range(9000) as r (i)", "kind": "line", "x": "a", "y": "a"}`, 413, "more than 1,048,576 bytes", "only for the columns"},
		{`from marts.runs`, 400, "not the JSON", "send"},
	} {
		response := must.Get(s.do("POST", "/v1/plot", strings.NewReader(c.body), "Content-Type", asJSON))(t)
		status, got := text(t, response)
		var said map[string]string
		if err := json.Unmarshal([]byte(got), &said); err != nil || status != c.status || !strings.Contains(said["error"], c.says) || !strings.Contains(said["hint"], c.advice) {
			t.Errorf("%s: got %d %v, want %d with %q and %q", c.body, status, said, c.status, c.says, c.advice)
		}
	}
	response := must.Get(s.do("POST", "/v1/plot", strings.NewReader(`{"sql": "select 1"}`), "Authorization", ""))(t)
	if status, got := text(t, response); status != 401 {
		t.Errorf("without a token: got %d %s", status, got)
	}
}

// The script that draws is the published one, whether it travels packed or not.
func TestTheScriptOfPlots(t *testing.T) {
	const want = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0" // dist/echarts.min.js of echarts 6.1.0 at npm
	s := serving(t, nil)
	for _, coding := range []string{"gzip", "identity"} {
		response := must.Get(s.do("GET", "/"+plot.ScriptName, nil, "Accept-Encoding", coding, "Authorization", ""))(t)
		defer response.Body.Close()
		var script io.Reader = response.Body
		if coding == "gzip" {
			script = must.Get(gzip.NewReader(script))(t)
		}
		content, err := io.ReadAll(script)
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || response.StatusCode != 200 || got != want {
			t.Errorf("%s: got %d, %s, %v", coding, response.StatusCode, got, err)
		}
	}
}

// The module for notebooks comes without a token: it is how one begins.
func TestThePythonModuleIsOpen(t *testing.T) {
	s := serving(t, nil)
	response := must.Get(s.do("GET", "/tidemark.py", nil, "Authorization", ""))(t)
	want := must.Get(os.ReadFile("tidemark.py"))(t)
	if status, got := text(t, response); status != 200 || got != string(want) {
		t.Errorf("got %d and %d bytes, want the %d of the file", status, len(got), len(want))
	}
}
