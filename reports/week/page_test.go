package week_test

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/analysis/week"
	"tidemark/internal/proof/golden"
	"tidemark/internal/proof/must"
	page "tidemark/reports/week"
	"tidemark/reports/week/sample"
)

var update = flag.Bool("update", false, "write the golden files anew")

// write makes a page without its drawings, which cost seconds.
func write(t *testing.T, r *week.Report) string {
	t.Helper()
	defer page.WithoutDrawings()()
	return writeWhole(t, r)
}

func writeWhole(t testing.TB, r *week.Report) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, page.Write(&out, r, page.Options{GeneratedAt: time.Unix(1_800_000_000, 0)}))
	return out.String()
}

// whole is the page of the usual week with its drawings, made once.
var whole = sync.OnceValue(func() string { return writeWhole(keeper{}, sample.Report()) })

// keeper stands for a test in what is made once for all.
type keeper struct{ testing.TB }

func (keeper) Helper()           {}
func (keeper) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

var drawing = regexp.MustCompile(`<svg (?:viewBox|[^>]*role="img")[\s\S]*?</svg>`)

// Drawings are tested where they are made; here the page around them is held.
func TestPageIsAsItsGoldenFile(t *testing.T) {
	html := whole()
	golden.Check(t, "week.html", drawing.ReplaceAllString(html, "<svg/>"), html, *update)
}

func TestTheSameReportIsTheSameBytes(t *testing.T) {
	if first, second := whole(), writeWhole(t, sample.Report()); first != second {
		t.Errorf("two pages of the same report differ %s", golden.Difference(first, second))
	}
	again := sample.All()
	for name, r := range sample.All() {
		if first, second := write(t, r), write(t, again[name]); first != second {
			t.Errorf("%s: two pages of the same report differ %s", name, golden.Difference(first, second))
		}
	}
}

const mostBytes = 1_500_000

func TestAPageIsOneSafeFile(t *testing.T) {
	pages := map[string]string{"the usual week with its drawings": whole()}
	for name, r := range sample.All() {
		pages[name] = write(t, r)
	}
	for name, html := range pages {
		if len(html) > mostBytes {
			t.Errorf("%s: %d bytes, want at most %d", name, len(html), mostBytes)
		}
		const policy = `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`
		must.Say(t, html, policy)
		if found := regexp.MustCompile(`<script|<iframe|<img|<link|\son[a-z]+=|@import|src=|href="[^#]|url\([^#]`).FindString(html); found != "" {
			t.Errorf("%s: the page has %q, which could load or run something", name, found)
		}
		if found := regexp.MustCompile(`.{0,30}(NaN|\bInf\b|&lt;nil&gt;|%!|ZgotmplZ).{0,20}`).FindString(html); found != "" {
			t.Errorf("%s: the page says %q", name, found)
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if ids[id[1]] {
				t.Errorf("%s: id %s comes twice", name, id[1])
			}
			ids[id[1]] = true
		}
		for _, to := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if !ids[to[1]] {
				t.Errorf("%s: a link goes to #%s, which is not there", name, to[1])
			}
		}
		if n := strings.Count(html, "<h1"); n != 1 {
			t.Errorf("%s: got %d h1, want one", name, n)
		}
	}
}

// What users name things is text, wherever it comes.
func TestNamesAreText(t *testing.T) {
	const hostile = `</style></script><img src=x onerror=alert(1)> *b* {{.}} 'q' "d"`
	r := sample.Report()
	r.Service, r.TimeZone, r.Deployment.InWords, r.Version = hostile, hostile, hostile, hostile
	r.File.Path, r.File.Text, r.Do.Text, r.Basis.Sentence, r.Basis.Search = hostile, hostile, hostile, hostile, hostile
	r.Notes, r.Classes[0].Name, r.Symptoms[0].Name, r.Alternatives[0].Name, r.Runs[0].ID = []string{hostile}, hostile, hostile, hostile, hostile
	r.Sources[0].Name, r.Gaps[0].Why, r.Forecast.Method, r.Scaling[0].Name, r.Price.Source = hostile, hostile, hostile, hostile, hostile
	if html := write(t, r); strings.Contains(html, "<img") || strings.Count(html, "</style>") != 1 {
		t.Error("a name became markup")
	}
	if md := string(page.Summary(r)); strings.Contains(md, "<img") || strings.Contains(md, "*b*") && !strings.Contains(md, `\*b\*`) {
		t.Errorf("a name became Markdown:\n%s", md)
	}
}

// A report of which nothing is known still gives a page.
func TestNothingKnownIsStillAPage(t *testing.T) {
	for _, strip := range map[string]func(r *week.Report){
		"no figures at all": func(r *week.Report) {
			*r = week.Report{Service: "chat", Week: "2026-W47", FromDay: "2026-11-16", UntilDay: "2026-11-22", TimeZone: "Europe/Berlin", Hours: r.Hours, Replicas: r.Replicas}
			for i := range r.Hours {
				r.Hours[i] = week.Hour{Start: r.Hours[i].Start, Local: r.Hours[i].Local, Day: r.Hours[i].Day, HourOfDay: r.Hours[i].HourOfDay, IsMissing: true, PaidReplicas: 6}
			}
			r.Sums.Hours, r.Sums.MissingHours = len(r.Hours), len(r.Hours)
		},
		"no price":            func(r *week.Report) { r.Price.USDPerGPUHour, r.Sums.CostUSD, r.Sums.USDPerMillion = nil, nil, nil },
		"no shape":            func(r *week.Report) { r.Shape = week.Shape{} },
		"no replays":          func(r *week.Report) { r.Runs = nil },
		"no other deployment": func(r *week.Report) { r.Alternatives = nil },
		"an unknown zone":     func(r *week.Report) { r.TimeZone = "Nowhere/At_All" },
	} {
		r := sample.Report()
		strip(r)
		must.NotSay(t, write(t, r), "ZgotmplZ")
	}
}

// What counts from the due time is not called TTFT alone, and the capacity says where it comes from.
func TestWordsOfTheCapacity(t *testing.T) {
	for _, c := range []struct {
		name, want string
		r          *week.Report
	}{
		{"an objective from the due time", "p99 TTFT from due at most 1\u202fs", sample.Report()},
		{"a measured capacity", "<dt>Origin</dt><dd>measured</dd>", sample.Report()},
		{"a rehearsed one", "<dt>Origin</dt><dd>rehearsed for this page, not measured</dd>", sample.Rehearsed()},
		{"no cost where the SLO was not met", "none: the SLO was not met", with(sample.Report(), func(r *week.Report) { r.Sums.USDPerMillion = nil })},
	} {
		must.Say(t, write(t, c.r), c.want)
	}
}

// A section without data says which command fetches it.
func TestASectionWithoutDataSaysWhatFetchesIt(t *testing.T) {
	for _, c := range []struct {
		name string
		r    *week.Report
		want []string
	}{
		{"no metrics of production", sample.NoMetrics(), []string{"tidemark collect --service chat.yaml"}},
		{"the first week", sample.NoHistory(), []string{"tidemark collect --service chat.yaml --since 56d", "first week"}},
		{"no capacity", sample.NoCapacity(), []string{"tidemark capacity chat-traffic --slo slo.yaml --base-url URL --model MODEL --gpu H100"}},
	} {
		html := write(t, c.r)
		for _, want := range c.want {
			must.Say(t, html, want)
		}
	}
}

var (
	gridRow  = regexp.MustCompile(`<tr><th scope="row">([^<]*)</th>(.*?)</tr>`)
	gridCell = regexp.MustCompile(`<td(?: class="[^"]*")?>(.*?)</td>`)
)

// rowsOfHours are the rows of the table of hours: the hour, and the text of each day.
func rowsOfHours(html string) map[string][]string {
	_, from, _ := strings.Cut(html, `<table class="week">`)
	table, _, _ := strings.Cut(from, "</table>")
	out := map[string][]string{}
	for _, row := range gridRow.FindAllStringSubmatch(table, -1) {
		for _, cell := range gridCell.FindAllStringSubmatch(row[2], -1) {
			out[row[1]] = append(out[row[1]], regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cell[1], ""))
		}
	}
	return out
}

func TestTheTableOfHours(t *testing.T) {
	usual := rowsOfHours(write(t, sample.Report()))
	if len(usual) != 24 || usual["14:00"][1] != "busiest: 6" || usual["03:00"][3] != "missing, as paid: 6" {
		t.Errorf("usual week: got %d rows, Tuesday 14:00 %q, Thursday 03:00 %q", len(usual), usual["14:00"], usual["03:00"])
	}
	autumn := rowsOfHours(write(t, sample.Autumn()))
	if again := autumn["02:00 again"]; len(autumn) != 25 || len(again) != 7 || again[0] != "" || again[6] == "" {
		t.Errorf("the Sunday of 25 hours: got %d rows, the second 02:00 is %q", len(autumn), again)
	}
	spring := rowsOfHours(write(t, sample.Spring()))
	if len(spring) != 24 || spring["02:00"][6] != "" || spring["02:00"][5] == "" {
		t.Errorf("the Sunday of 23 hours: got %d rows, 02:00 is %q", len(spring), spring["02:00"])
	}
}
