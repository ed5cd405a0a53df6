//go:build notebooks

package books

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// dashboard is the part of Grafana's format that says what is asked.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct {
			Type, Source, Format string
			URL                  string `json:"url"`
			URLOptions           struct {
				Method   string
				BodyType string `json:"body_type"`
				Data     string
				Headers  []struct{ Key, Value string }
			} `json:"url_options"`
			Columns []struct{ Selector, Type string }
		}
		Transformations []struct{ Options struct{ Fields []string } }
		Options         struct {
			XField string `json:"xField"`
		}
	}
}

// askPanels posts each panel's query as the Infinity data source does, with the variables of Grafana filled in.
func (p place) askPanels(t *testing.T) {
	text := must.Get(os.ReadFile("../../../docs/grafana/tidemark.json"))(t)
	var d dashboard
	must.Do(t, json.Unmarshal(text, &d))
	if len(d.Panels) < 6 {
		t.Fatalf("%d panels, want six or more", len(d.Panels))
	}
	const isoOfGrafana = "2006-01-02T15:04:05.000Z"
	now := time.Now().UTC()
	filled := strings.NewReplacer("${simulated}", "true",
		"and is_valid", "and is_valid in (true, false)", // panels leave out the runs that a busy machine made invalid
		"${__from:date:iso}", now.Add(-time.Hour).Format(isoOfGrafana), "${__to:date:iso}", now.Add(time.Hour).Format(isoOfGrafana))
	for _, panel := range d.Panels {
		t.Run(panel.Title, func(t *testing.T) {
			if len(panel.Targets) != 1 {
				t.Fatalf("%d queries, want one", len(panel.Targets))
			}
			target := panel.Targets[0]
			request := must.Get(http.NewRequest(target.URLOptions.Method, p.url+target.URL, strings.NewReader(filled.Replace(target.URLOptions.Data))))(t)
			for _, header := range target.URLOptions.Headers {
				request.Header.Set(header.Key, header.Value)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			rows := answered(t, request)
			named := map[string]bool{}
			for _, column := range target.Columns {
				named[column.Selector] = true
				seen := false
				for _, row := range rows {
					value, has := row[column.Selector]
					if !has {
						t.Fatalf("the panel names the column %q, and the answer has %v", column.Selector, row)
					}
					if value != nil {
						seen = true
						isOfType(t, column.Selector, column.Type, value)
					}
				}
				if !seen && column.Selector != "reason" {
					t.Errorf("column %q has no value in %d rows", column.Selector, len(rows))
				}
			}
			for _, transformation := range panel.Transformations {
				for _, field := range transformation.Options.Fields {
					if !named[field] {
						t.Errorf("lines are split by %q, which is no column", field)
					}
				}
			}
			if x := panel.Options.XField; x != "" && !named[x] {
				t.Errorf("the x axis is %q, which is no column", x)
			}
			t.Logf("%d rows, the first %v", len(rows), rows[0])
		})
	}
}

func answered(t *testing.T, request *http.Request) (rows []map[string]any) {
	t.Helper()
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)", response.Status, body, err)
	}
	if err := json.Unmarshal(body, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("got %s, want rows (%v)", body, err)
	}
	return rows
}

// isOfType checks that the Infinity data source can read a value as the type that the panel gives its column.
func isOfType(t *testing.T, column, kind string, value any) {
	t.Helper()
	switch kind {
	case "number":
		if _, ok := value.(float64); !ok {
			t.Errorf("%s: %v is no number", column, value)
		}
	case "timestamp":
		text, _ := value.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			t.Errorf("%s: %v is no instant", column, value)
		}
	case "string":
	default:
		t.Errorf("%s: no such type %q", column, kind)
	}
}
