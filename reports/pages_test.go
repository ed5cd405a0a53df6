//go:build duckdb_arrow && pages

package reports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/proof/chromium"
	"tidemark/internal/proof/must"
	"tidemark/reports"
)

// hostileTexts are what users, traces and servers may name things. On the page each must be text.
var hostileTexts = []string{
	`</script><script>window.__pwned=1</script>`,
	`<img src=x onerror="window.__pwned=1;alert(1)">`,
	`__f__function(){window.__pwned=1}__f__`,
	`"><svg onload=window.__pwned=1>' {{.}} ${1} {a}{b}{c} $&`,
	`</style><style>*{display:none}</style> <!-- --> ]]>`,
	`javascript:window.__pwned=1 url(http://127.0.0.1:1/x)`,
	`שלום עולם مرحبا بالعالم 🚀👩‍💻`,
}

// The page, in a real browser without a network: every hostile string is there as text, nothing is asked for, nothing
// runs, nothing complains, it fits a phone, and it prints.
func TestPagesInABrowser(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("ten kilobytes of name ", 470))
	all := strings.Join(hostileTexts, " · ")
	slices.Reverse(hostileTexts)
	reversed := strings.Join(hostileTexts, " · ")
	runs := []recorded{{id: "usual", name: "azure-code at noon", note: "before the upgrade", isSimulated: true, requests: 900, lateness: 0.003, isFull: true}}
	for i, text := range []string{all, reversed, long} {
		runs = append(runs, recorded{id: text, name: text, note: text, text: text, requests: 120, lateness: 0.002, isSimulated: i > 0, level: fmt.Sprint(i + 1)})
	}
	db := record(t, runs...)
	insertSearch(t, db, 50, searched{id: "s0", source: "azure-code", startedAt: "2026-11-18T12:00:00Z", seqs: 128, outcome: "found", scale: 1.5})
	insertSearch(t, db, 51, searched{id: "s1", source: "azure-code", startedAt: "2026-11-20T12:00:00Z", seqs: 256, outcome: "found", scale: 1.8, runs: []string{"x1", "x2", "x3"}})
	insertSearch(t, db, 52, searched{id: all, source: reversed, startedAt: "2026-11-20T12:00:00Z", outcome: "undecided", scale: 2, text: all, runs: []string{long}})
	for name, page := range map[string]struct {
		o     reports.Options
		texts []string
	}{
		"one run":        {reports.Options{RunIDs: []string{"usual"}}, []string{"SIMULATED", "azure-code at noon", "before the upgrade"}},
		"a search":       {reports.Options{Sources: []string{"azure-code"}}, []string{"1.80 times the window’s traffic", "It handles 9.00 requests/s, 1.80× the traffic"}},
		"two runs":       {reports.Options{RunIDs: []string{"usual", all}}, []string{"The runs side by side", all}},
		"hostile search": {reports.Options{Sources: []string{all}}, []string{all, reversed}},
		"hostile names":  {reports.Options{RunIDs: []string{all, reversed, long}, Title: all}, []string{all, reversed, long}},
	} {
		t.Run(name, func(t *testing.T) {
			checkPage(t, strings.ReplaceAll(name, " ", "-"), write(t, db, page.o), page.texts)
		})
	}
}

func checkPage(t *testing.T, name, html string, texts []string) {
	file := filepath.Join(t.TempDir(), "report.html")
	must.Do(t, os.WriteFile(file, []byte(html), 0o644))
	b := chromium.Start(t)
	b.Open("file://" + file)

	for _, url := range b.Requested() {
		if url != "file://"+file {
			t.Errorf("the page asks for %s", url)
		}
	}
	for _, complaint := range b.Complaints() {
		t.Errorf("the browser complains: %s", complaint)
	}
	if got := b.Evaluate(`String(window.__pwned)`); got != "undefined" {
		t.Errorf("a script of a label ran: window.__pwned is %s", got)
	}
	if got := b.Evaluate(`String(document.querySelectorAll('script, img, iframe, object, embed, link, foreignObject').length)`); got != "0" {
		t.Errorf("got %s elements that could load or run something, want none", got)
	}
	if got := b.Evaluate(`String(Array.from(document.querySelectorAll('*')).filter(e => Array.from(e.attributes).some(a => /^on/i.test(a.name))).length)`); got != "0" {
		t.Errorf("got %s elements with an event handler, want none", got)
	}
	shown := strings.Join(strings.Fields(b.Evaluate(`document.body.innerText`)), " ")
	for _, text := range texts {
		must.Say(t, shown, strings.Join(strings.Fields(text), " "))
	}
	for _, width := range []int{390, 820, 1280} {
		b.Size(width)
		if got := b.Evaluate(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); got != "0" {
			t.Errorf("at %d px the page is %s px too wide", width, got)
		}
		if got, _ := strconv.Atoi(b.Evaluate(firstChart)); name == "one-run" && (got == 0 || got > 1266) {
			t.Errorf("at %d px the first chart begins at %d px, want it within one and a half screens of 844", width, got)
		}
		if got := b.Evaluate(collisions); got != "" {
			t.Errorf("at %d px texts of charts touch or are cut: %s", width, got)
		}
		b.Screenshot(fmt.Sprintf("%s-%d", name, width))
	}
	if pdf := b.PDF(name); !strings.HasPrefix(pdf, "%PDF-") {
		t.Errorf("printing gives %.20q, want a PDF", pdf)
	}
	checkPrintedTables(t, b)
	b.CheckAccessibility(t)
}

// firstChart is how far down the page the first drawing that is shown begins.
const firstChart = `String(Math.round([...document.querySelectorAll('svg[role=img]')].filter(s => s.checkVisibility()).map(s => s.getBoundingClientRect().top + scrollY)[0]))`

// collisions names the texts of the drawings that are shown which touch another one or reach out of their drawing. A letter's box has room for
// accents and descenders, which do not touch.
const collisions = `(() => {
	const bad = []
	for (const svg of document.querySelectorAll('svg[role=img]')) {
		if (!svg.checkVisibility()) continue
		const edge = svg.getBoundingClientRect()
		const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()])
		texts.forEach(([a, p], i) => {
			if (p.left < edge.left - 1 || p.right > edge.right + 1 || p.bottom > edge.bottom + 1) bad.push(a + ' is cut')
			for (const [b, q] of texts.slice(i + 1))
				if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 4 && q.top < p.bottom - 4) bad.push(a + ' touches ' + b)
		})
	}
	return bad.slice(0, 5).join('; ')
})()`

// On paper nothing can be opened: what is folded on the screen must be visible, but for the numbers of the first chart, whose page has the findings, and for the single runs of a comparison, which have reports of
// their own.
func checkPrintedTables(t *testing.T, b *chromium.Browser) {
	b.Media("print")
	defer b.Media("")
	hidden := b.Evaluate(`String(Array.from(document.querySelectorAll('details .table:not(.long)')).filter(e => !e.closest('.whole, .fine, .first') && (e.getBoundingClientRect().height < 20 || !e.checkVisibility())).length)`)
	if hidden != "0" {
		t.Errorf("%s tables are folded on paper", hidden)
	}
}
