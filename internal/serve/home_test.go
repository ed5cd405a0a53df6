//go:build duckdb_arrow

package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
)

type shownHome struct {
	Sections []struct {
		Name, SQL string
		All       int
		Items     []struct{ Title, Note, At, Href string }
	}
}

// homeOf is the home of the small warehouse beside a folder with one page, and a secret that is none.
func homeOf(t *testing.T, change func(*serve.Config)) (*served, shownHome) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"a b.html": "<title>A <i>page</i></title>", "notes.txt": "private"} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	s := serving(t, func(c *serve.Config) {
		c.ReportsFolder = folder
		c.Reports = func() ([]serve.Report, error) {
			return []serve.Report{{File: "a b.html", Title: "A page", At: time.Date(2026, 11, 28, 4, 43, 0, 0, time.FixedZone("", 3600))}}, nil
		}
		if change != nil {
			change(c)
		}
	})
	response := must.Get(s.do("GET", "/v1/home", nil))(t)
	status, got := text(t, response)
	var shown shownHome
	if err := json.Unmarshal([]byte(got), &shown); err != nil || status != 200 {
		t.Fatalf("%d %s %v", status, got, err)
	}
	return s, shown
}

func TestHomeListsWhatThereIsToRead(t *testing.T) {
	s, shown := homeOf(t, nil)
	var names []string
	for _, section := range shown.Sections {
		names = append(names, section.Name)
		if section.All < len(section.Items) || len(section.Items) == 0 || len(section.Items) > 5 {
			t.Errorf("%s has %d of %d", section.Name, len(section.Items), section.All)
		}
		if section.SQL == "" {
			continue
		}
		if status, got := text(t, s.ask(t, section.SQL, "Accept", asCSV)); status != 200 || strings.Count(got, "\n") < section.All {
			t.Errorf("%s: %d of %s", section.Name, status, section.SQL)
		}
	}
	if got := strings.Join(names, ", "); got != "Reports, Services, Runs, Answers, Studies, Decisions" {
		t.Errorf("the sections are %s", got)
	}
	if first := shown.Sections[0].Items[0]; first.Title != "A page" || first.At != "2026-11-28 03:43 +00:00" {
		t.Errorf("a page of the folder is %+v", first)
	}
	must.Say(t, shown.Sections[3].Items[0].Note, "H100 x1, 2 replicas")
	studies := shown.Sections[4].Items
	if got := fmt.Sprintf("%+v", studies[0]); len(studies) != 2 || got != "{Title:tune chat Note:set: --max-num-seqs 128; 21.0 requests/s; nothing was sent; 2 configurations At:2026-11-28 10:40 +00:00 Href:}" {
		t.Errorf("of %d studies the newest is %s, want what tune found", len(studies), got)
	}
	for _, section := range shown.Sections {
		t.Logf("%s: %+v", section.Name, section.Items)
	}
}

// A browser follows a link without a token. The link is good for its page alone, while the server runs, and for a day.
func TestALinkOfHomeOpensItsPageAlone(t *testing.T) {
	s, shown := homeOf(t, nil)
	get := func(address string) (int, string, http.Header) {
		t.Helper()
		response := must.Get(http.Get(s.url + address))(t)
		status, got := text(t, response)
		return status, got, response.Header
	}
	href := shown.Sections[0].Items[0].Href
	status, got, header := get(href)
	if status != 200 || got != "<title>A <i>page</i></title>" || !strings.HasSuffix(header.Get("Content-Security-Policy"), "; sandbox") {
		t.Errorf("the page of the folder: %d %s %v", status, got, header)
	}
	opened := 0
	for _, section := range shown.Sections {
		for _, item := range section.Items {
			if item.Href == "" || opened == 4 {
				continue
			}
			opened++
			must.NotSay(t, item.Href, secret)
			if status, _, _ := get(item.Href); status != 200 && status != 400 { // the tests' report knows two runs and one week
				t.Errorf("%s: status %d", item.Href, status)
			}
		}
	}
	path, query, _ := strings.Cut(href, "?")
	for why, address := range map[string]string{
		"no key": path, "another page": "/v1/reports/files/notes.txt?" + query, "a run": "/v1/reports/runs/one?" + query, "longer": strings.Replace(href, "until=1", "until=2", 1),
		"another path": "/v1/runs?" + query, "no key of it": path + "?until=99999999999&key=", "not signed": path + "?until=99999999999&key=00",
	} {
		if status, _, _ := get(address); status != 401 {
			t.Errorf("%s: status %d, want 401", why, status)
		}
	}
	for _, name := range []string{"notes.txt", "..%2Fnotes.txt", "%2Fetc%2Fpasswd", "index.html"} {
		response := must.Get(s.do("GET", "/v1/reports/files/"+name, nil))(t)
		if status, got := text(t, response); status != 404 {
			t.Errorf("%s: %d %s, want 404", name, status, got)
		}
	}
	_, open := homeOf(t, func(c *serve.Config) { c.Tokens = nil })
	if got := open.Sections[0].Items[0].Href; got != "/v1/reports/files/a%20b.html" {
		t.Errorf("without tokens a link is %s", got)
	}
}
