//go:build pages

package week_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/proof/chromium"
	"tidemark/internal/proof/must"
	page "tidemark/reports/week"
	"tidemark/reports/week/sample"
)

const mostPaper = 12 // A4 pages

// setting is a window in which a page has to hold.
type setting struct {
	name  string
	width int
	dark  bool
}

var settings = []setting{{"light", 1280, false}, {"dark", 1280, true}, {"phone", 390, false}}

// Every week of the samples in a real browser without a network. axe looks at the usual one and at the gallery, which has every section in every
// shape.
func TestPagesOfAWeek(t *testing.T) {
	for name, r := range sample.All() {
		t.Run(name, func(t *testing.T) {
			b := open(t, writeWhole(t, r))
			checkLede(t, b)
			checkEverywhere(t, b, name)
			if name == "report" {
				checkSettings(t, b, name)
			}
			checkPaper(t, b, name)
		})
	}
}

func TestPagesGallery(t *testing.T) {
	html := must.Get(page.Gallery())(t)
	b := open(t, html)
	checkEverywhere(t, b, "gallery")
	checkSettings(t, b, "gallery")
}

// open shows a page, and at the end of the test wants that it asked for nothing else and complained about nothing.
func open(t *testing.T, html string) *chromium.Browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "week.html")
	must.Do(t, os.WriteFile(file, []byte(html), 0o644))
	b := chromium.Start(t)
	b.Open("file://" + file)
	t.Cleanup(func() {
		for _, url := range b.Requested() {
			if url != "file://"+file {
				t.Errorf("the page asks for %s", url)
			}
		}
		for _, complaint := range b.Complaints() {
			t.Errorf("the browser complains: %s", complaint)
		}
	})
	return b
}

// checkLede: the headline has at most two lines and the lede at most three on a usual screen.
func checkLede(t *testing.T, b *chromium.Browser) {
	t.Helper()
	b.Size(1280)
	const lines = `String(Math.round(document.querySelector('%s').getBoundingClientRect().height / parseFloat(getComputedStyle(document.querySelector('%[1]s')).lineHeight)))`
	if got := b.Evaluate(fmt.Sprintf(lines, "h1")); got > "2" {
		t.Errorf("the headline has %s lines, want at most 2", got)
	}
	if got := b.Evaluate(fmt.Sprintf(lines, ".lede")); got > "3" {
		t.Errorf("the lede has %s lines, want at most 3", got)
	}
}

// checkEverywhere looks at the page with all unfolded: nothing touches or is cut at three widths.
func checkEverywhere(t *testing.T, b *chromium.Browser, name string) {
	t.Helper()
	b.Size(1280)
	b.Screenshot(name + "-folded")
	b.Evaluate(`document.querySelectorAll('details').forEach(d => d.open = true), ''`)
	for _, width := range []int{390, 768, 1280} {
		b.Size(width)
		checkLayout(t, b, width)
	}
}

// checkSettings wants that axe finds nothing in three settings.
func checkSettings(t *testing.T, b *chromium.Browser, name string) {
	t.Helper()
	for _, s := range settings {
		b.Size(s.width)
		b.Dark(s.dark)
		b.Screenshot(name + "-" + s.name)
		t.Run(s.name, b.CheckAccessibility)
	}
	b.Dark(false)
}

// faults are what is wrong with the layout: a label of a drawing that touches another or leaves the drawing, a box whose text does not fit.
const faults = `(() => {
  const out = [], seen = e => e.checkVisibility() && e.getClientRects().length > 0;
  const text = e => e.textContent.trim().slice(0, 40);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) out.push('the page is ' + (document.documentElement.scrollWidth - document.documentElement.clientWidth) + ' px too wide: ' + [...document.querySelectorAll('body *')].filter(e => seen(e) && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.tagName + '.' + e.className + ' ' + text(e)).slice(0, 3).join(' | '));
  for (const svg of document.querySelectorAll('figure svg, .small svg')) {
    if (!seen(svg)) continue;
    const frame = svg.getBoundingClientRect(), labels = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]);
    labels.forEach(([e, r], i) => {
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) out.push('label leaves its drawing: ' + text(e));
      labels.slice(i + 1).forEach(([other, o]) => {
        const w = Math.min(r.right, o.right) - Math.max(r.left, o.left), h = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
        if (w > 1 && h > 4) out.push('labels touch: ' + text(e) + ' | ' + text(other));
      });
    });
  }
  for (const e of document.querySelectorAll('h1,h2,h3,p,dt,dd,th,td,caption,figcaption,summary,pre,li,header span')) {
    if (!seen(e) || e.closest('.stack thead') || e.classList.contains('vh')) continue;
    const box = e.getBoundingClientRect(), range = document.createRange();
    for (const node of e.childNodes) {
      if (node.nodeType === 1 && node.classList.contains('vh')) continue;
      range.selectNodeContents(node);
      if ([...range.getClientRects()].some(r => r.width > 1 && (r.right > box.right + 1.5 || r.left < box.left - 1.5))) { out.push('text leaves its box: ' + e.tagName + ' ' + text(e)); break; }
    }
  }
  return JSON.stringify(out);
})()`

func checkLayout(t *testing.T, b *chromium.Browser, width int) {
	t.Helper()
	var found []string
	must.Do(t, json.Unmarshal([]byte(b.Evaluate(faults)), &found))
	for i, fault := range found {
		if i == 12 {
			t.Errorf("at %d px: %d more", width, len(found)-i)
			break
		}
		t.Errorf("at %d px: %s", width, fault)
	}
}

var paperPage = regexp.MustCompile(`/Type\s*/Page\b[^s]`)

// checkPaper prints: few pages, the first one is the first screen with the findings, and nothing that matters is folded.
func checkPaper(t *testing.T, b *chromium.Browser, name string) {
	t.Helper()
	b.Evaluate(`document.querySelectorAll('details').forEach(d => d.open = false), ''`)
	b.Size(1280)
	pdf := b.PDF(name)
	if n := len(paperPage.FindAllString(pdf, -1)); n == 0 || n > mostPaper {
		t.Errorf("got %d printed pages, want 1 to %d", n, mostPaper)
	} else {
		t.Logf("%d printed pages", n)
	}
	if first := strings.Index(pdf, "%PDF-"); first != 0 {
		t.Errorf("printing gives %.20q, want a PDF", pdf)
	}
	b.Media("print")
	defer b.Media("")
	b.Size(688) // 182 mm between the margins of A4, and 267 mm high
	if got, _ := strconv.Atoi(b.Evaluate(`String(Math.round(document.querySelector('.jump').getBoundingClientRect().bottom))`)); got > 1009 {
		t.Errorf("the first screen and the findings end at %d px of 1009 on the first sheet", got)
	}
	hidden := b.Evaluate(`JSON.stringify(Array.from(document.querySelectorAll('details:not(.onscreen):not(.sqlonly) table')).filter(e => e.getBoundingClientRect().height < 10).map(e => e.textContent.slice(0, 60)))`)
	if hidden != "[]" {
		t.Errorf("folded on paper: %s", hidden)
	}
	if got := b.Evaluate(`String(Array.from(document.querySelectorAll('pre.sql')).filter(e => e.getClientRects().length > 0).length)`); got != "0" {
		t.Errorf("%s queries are printed", got)
	}
	must.NotSay(t, b.Evaluate(`getComputedStyle(document.body).backgroundColor`), "17")
}
