//go:build duckdb_arrow && pages

package serve_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tidemark/internal/proof/chromium"
)

// A person opens the page, gives the token, looks for a relation, asks, plots, shares the address, makes a mistake.
func TestPagesAskInABrowser(t *testing.T) {
	s, shown := homeOf(t, nil)
	b := chromium.Start(t)
	b.Size(1280)
	b.Open(s.url + "/")
	b.Await(`!document.getElementById("door").hidden`)
	b.Screenshot("ask-door")
	b.CheckAccessibility(t)
	b.Evaluate(`document.getElementById("token").focus(); ""`)
	b.Type("wrong-token-0123456789abcdef012345")
	b.Enter(false)
	b.Await(`document.body.innerText.includes("not one of the server's")`)
	b.Evaluate(`document.getElementById("token").focus(); ""`)
	b.Type(secret)
	b.Enter(false)
	b.Await(`document.querySelectorAll("#relations li").length > 50`)
	if got := b.Evaluate(`JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, location.href.includes("token")])`); got != `[0,1,"",false]` {
		t.Errorf("the token is kept in %s, want the session's storage alone", got)
	}

	if got := b.Evaluate(`document.querySelector("#relations h3").textContent + document.querySelector("#relations ul b").textContent`); got != "Start heremarts.runs" {
		t.Errorf("the list begins with %q", got)
	}
	b.Await(`document.querySelectorAll("#lists h2").length === 6`)
	if got := b.Evaluate(`[...document.querySelectorAll("#lists li")].slice(0, 2).map(li => li.innerText.replace(/\s+/g, " ")).join("|")`); got != "A page a b.html 2026-11-28 03:43 +00:00|chat, 2026-W47 Buy no GPUs" {
		t.Errorf("the home begins with %q", got)
	}
	b.CheckLooks(t, "home")
	b.Evaluate(`document.querySelector("#lists button").click(); ""`)
	b.Await(`document.querySelectorAll("#sheet tbody tr").length === 1 && document.getElementById("sql").value.includes("marts.service_weeks")`)
	b.Open(s.url + shown.Sections[0].Items[0].Href) // as a click does: without the token
	b.Await(`document.title === "A <i>page</i>"`)
	b.Open(s.url + "/")
	b.Await(`document.querySelectorAll("#relations li").length > 50`)
	b.Screenshot("ask-list")
	b.Evaluate(`document.getElementById("find").focus(); ""`)
	b.Type("arrival hours")
	b.Await(`document.querySelector("#relations b").textContent === "marts.arrival_hours"`)

	b.Evaluate(`document.getElementById("sql").value = "select seq, sqrt(seq) as ttft_s, 9007199254740993 as big_id from range(100) as numbers (seq)"; document.getElementById("sql").focus(); ""`)
	b.Enter(true)
	b.Await(`document.querySelectorAll("#sheet tbody tr").length === 100`)
	if got := b.Evaluate(`document.querySelector("#sheet tbody tr:nth-child(5)").innerText.replace(/\s+/g, " ")`); strings.TrimSpace(got) != "4 2 9007199254740993" {
		t.Errorf("got the row %q, want 4, its root and a whole number in full", got)
	}
	b.Await(`document.querySelector("#plot svg")`)
	if got := b.Evaluate(`document.getElementById("plot").getAttribute("aria-label")`); got != "ttft_s, s by seq, n = 100" {
		t.Errorf("the plot says %q", got)
	}
	if got := b.Evaluate(`[...document.querySelectorAll("#plot text")].map(e => e.textContent).filter(text => text.includes("seq") || text.includes("ttft")).sort().join("|")`); got != "seq|ttft_s, s" {
		t.Errorf("the axes are named %q", got)
	}
	for _, kind := range []string{"bar", "scatter", "line"} {
		choose(b, "kind", kind)
		want := map[string]string{"bar": "100", "scatter": "100", "line": "1"}[kind]
		if got := marksOf(b, kind); got != want {
			t.Errorf("as %s: got %s marks, want %s", kind, got, want)
		}
	}
	shared := b.Evaluate(`location.href`)
	b.CheckLooks(t, "ask")

	b.Open("about:blank")
	b.Open(shared)
	b.Await(`document.querySelectorAll("#sheet tbody tr").length === 100 && document.getElementById("kind").value === "line"`)

	b.Open("about:blank")
	b.Open(s.url + "/#sql=" + url.QueryEscape("from range(3000)"))
	b.Await(`document.body.innerText.includes("Cut: the first 2,000 rows")`)

	b.Evaluate(`document.getElementById("sql").value = "from marts.rums"; document.getElementById("run").click(); ""`)
	b.Await(`document.querySelector("#problem .problem")`)
	if got := b.Evaluate(`document.getElementById("problem").innerText`); !strings.Contains(got, "marts.rums") && !strings.Contains(got, "rums does not exist") || !strings.Contains(got, "Hint: ") {
		t.Errorf("a mistake is shown as %q", got)
	}
	b.Screenshot("ask-mistake")
	b.CheckAccessibility(t)

	// Names that look like numbers, and one name twice, stay in the order of the query; bars below zero hang from it.
	hidden := b.Evaluate(`document.getElementById("sql").value = "select 'b{' as b, -1e0 as \"10\", -2e0 as \"2\", 3 as b union all select 'c', -4, -5, 6"; document.getElementById("run").click();
		String(document.getElementById("answer").hidden && document.getElementById("plotting").hidden)`)
	if hidden != "true" {
		t.Errorf("the answer of another query is shown while one runs")
	}
	b.Await(`!document.getElementById("answer").hidden`)
	if got := b.Evaluate(`[...document.querySelectorAll("#sheet th")].map(h => h.textContent).join()`); got != "b,10,2,b_2" {
		t.Errorf("got the columns %s, want b,10,2,b_2", got)
	}
	if got := marksOf(b, "bar"); got != "2" {
		t.Errorf("bars of negative values: got %s, want 2", got)
	}
	if got := b.Evaluate(`document.getElementById("asked").textContent.slice(0, 9)`); got != "select 'b" {
		t.Errorf("a print has the query %q", got)
	}

	hostile := `</script><img src=x onerror="window.__pwned=1">`
	b.Evaluate(fmt.Sprintf(`document.getElementById("sql").value = %q; document.getElementById("run").click(); ""`,
		`select '`+hostile+`' as "`+strings.ReplaceAll(hostile, `"`, `""`)+`", 1 as n from range(2)`))
	b.Await(`document.querySelectorAll("#sheet tbody tr").length === 2`)
	if got := b.Evaluate(`String(window.__pwned) + document.querySelectorAll("img").length`); got != "undefined0" {
		t.Errorf("a value ran as script: %s", got)
	}
	b.Await(`document.querySelector("#plot svg")`)
	if got := b.Evaluate(`String(document.querySelector("#plot svg").textContent.includes("<img src=x onerror"))`); got != "true" {
		t.Errorf("the plot does not show the text as it is")
	}
	// A tooltip has the text too, and ECharts would make HTML of it if it were not told otherwise.
	b.Evaluate(`chart.dispatchAction({type: "showTip", seriesIndex: 0, dataIndex: 0}); ""`)
	b.Await(`[...document.querySelectorAll("#plot text")].filter(e => e.textContent.includes("onerror=")).length > 1`)
	if got := b.Evaluate(`String(window.__pwned) + document.querySelectorAll("img, #plot div div").length`); got != "undefined0" {
		t.Errorf("a tooltip of such a text: got %s, want nothing that ran, and no element", got)
	}
	pagesPlot(t, b)
	// A token that no header can carry left neither the room nor the door.
	b.Evaluate(`sessionStorage.setItem("tidemark-token", "€€"); ""`)
	b.Open("about:blank")
	b.Open(s.url + "/")
	b.Await(`!document.getElementById("door").hidden && document.body.innerText.includes("not one of the server's")`)

	for _, asked := range b.Requested() {
		if !strings.HasPrefix(asked, s.url+"/") && !strings.HasPrefix(asked, "data:,") && asked != "about:blank" {
			t.Errorf("the page asks for %s", asked)
		}
	}
	for _, complaint := range b.Complaints() {
		if !strings.Contains(complaint, "status of 401") && !strings.Contains(complaint, "status of 400") {
			t.Errorf("the browser complains: %s", complaint)
		}
	}
}

// choose takes an option and waits for its plot.
func choose(b *chromium.Browser, id, value string) {
	b.Evaluate(fmt.Sprintf(`{const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event("change"))}; ""`, id, value))
	b.Await(`document.getElementById("caption").textContent !== "plotting"`)
}

// marksOf counts what is drawn in the colours of the data: without fill for lines.
func marksOf(b *chromium.Browser, kind string) string {
	b.Await(`document.querySelector("#plot svg")`)
	attribute := map[string]string{"line": "stroke"}[kind]
	if attribute == "" {
		attribute = "fill"
	}
	return b.Evaluate(`{const colour = getComputedStyle(document.documentElement).getPropertyValue("--measured").trim();
		String([...document.querySelectorAll("#plot path")].filter(p => p.getAttribute("` + attribute + `") === colour).length)}`)
}

// checkTexts reports texts of the plot that lie on each other.
func checkTexts(t *testing.T, b *chromium.Browser) {
	t.Helper()
	if got := b.Evaluate(`{const texts = [...document.querySelectorAll("#plot text")].map(e => [e.textContent, e.getBoundingClientRect()]);
		texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([, q]) => p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom).map(([c]) => a + " on " + c)).join()}`); got != "" {
		t.Errorf("texts of the plot lie on each other: %s", got)
	}
}

// pagesPlot looks at plots that a page of one kind does not have: gaps, many series, a map, what is too much, mistakes.
func pagesPlot(t *testing.T, b *chromium.Browser) {
	ask := func(sql, caption string) {
		t.Helper()
		b.Evaluate(fmt.Sprintf(`document.getElementById("sql").value = %q; document.getElementById("run").click(); ""`, sql))
		b.Await(`document.getElementById("caption").textContent.includes(` + fmt.Sprintf("%q", caption) + `)`)
	}
	ask("select seq, case when seq // 10 % 2 = 0 then seq end as tpot_s from range(100) as numbers (seq)", "n = 50")
	b.Await(`document.querySelector("#plot svg")`)
	moves := b.Evaluate(`String([...document.querySelectorAll("#plot path")].filter(p => p.getAttribute("stroke") === "#0072b2").reduce((n, p) => n + (p.getAttribute("d").match(/M/g) || []).length, 0))`)
	if moves != "5" {
		t.Errorf("a line with five pieces is drawn in %s", moves)
	}
	b.Screenshot("ask-gaps")
	ask("select 'run-' || seq % 7 as run, seq // 7 as batch, sqrt(seq) + seq % 7 as step_s from range(700) as numbers (seq)", "batch by run, n = 700")
	choose(b, "x", "batch")
	choose(b, "series", "run")
	choose(b, "y", "step_s")
	for _, kind := range []string{"line", "scatter"} {
		choose(b, "kind", kind)
		b.Await(`document.querySelector("#plot svg") && document.getElementById("caption").textContent === "step_s, s by batch, for each run, n = 700"`)
		for _, isDark := range []bool{false, true} {
			b.Dark(isDark)
			b.Screenshot(fmt.Sprintf("ask-series-%s-%t", kind, isDark))
			checkTexts(t, b)
			b.CheckAccessibility(t)
		}
		b.Dark(false)
	}
	choose(b, "y", "run")
	choose(b, "value", "step_s")
	choose(b, "kind", "heatmap")
	b.Await(`document.querySelector("#plot svg") && document.getElementById("caption").textContent === "step_s, s by batch and run, n = 700"`)
	for _, isDark := range []bool{false, true} {
		b.Dark(isDark)
		b.Screenshot(fmt.Sprintf("ask-heatmap-%t", isDark))
		checkTexts(t, b)
		b.CheckAccessibility(t)
	}
	b.Dark(false)
	choose(b, "x", "run")
	b.Await(`document.getElementById("plot-problem").innerText.includes("aggregate in the query")`)
	ask("select seq, seq as twice from range(10001) as numbers (seq)", "n = 10,000; these are the first rows, and there are more")
}
