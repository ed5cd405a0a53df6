package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/cmd/tidemark/verbs/take"
	"tidemark/internal/proof/must"
)

// fakePrometheus has one replica, which finished a request a second since 1970 and began each with 0.2 s of wait. It wants the token "open-sesame"
// of those who ask for the model "private".
func fakePrometheus(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	asked := r.Form.Get("match[]") + r.Form.Get("query")
	if strings.Contains(asked, `"private"`) && r.Header.Get("Authorization") != "Bearer open-sesame" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	const matrix = `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`
	switch {
	case strings.Contains(asked, "timestamp("):
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[%s,"%[1]s"]}]}}`, r.Form.Get("time"))
	case strings.HasSuffix(asked, "[30m]"): // raw samples: it is scraped each minute
		at, _ := strconv.ParseFloat(r.Form.Get("time"), 64)
		fmt.Fprintf(w, matrix, fmt.Sprintf(`{"metric":{},"values":[[%f,"1"],[%f,"2"]]}`, at-60, at))
	case strings.Contains(asked, "DCGM"):
		fmt.Fprint(w, `{"status":"success","data":[]}`)
	case strings.HasSuffix(r.URL.Path, "/values"):
		fmt.Fprint(w, `{"status":"success","data":["vllm:request_success_total","vllm:time_to_first_token_seconds_bucket"]}`)
	default:
		from, _ := strconv.ParseInt(r.Form.Get("start"), 10, 64)
		until, _ := strconv.ParseInt(r.Form.Get("end"), 10, 64)
		step, _ := strconv.ParseInt(r.Form.Get("step"), 10, 64)
		name, more := "vllm:request_success_total", ""
		if strings.Contains(asked, "_bucket") {
			name, more = "vllm:time_to_first_token_seconds_bucket", `,"le":"+Inf"`
		}
		var values []string
		for at := from; at <= until; at += step {
			values = append(values, fmt.Sprintf(`[%d,"%d"]`, at, at))
		}
		fmt.Fprintf(w, matrix, fmt.Sprintf(`{"metric":{"__name__":"%s","instance":"a"%s},"values":[%s]}`, name, more, strings.Join(values, ",")))
	}
}

func TestInstantOf(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	for text, want := range map[string]string{
		"8d": "2026-11-15T09:00:00Z", "1.5d": "2026-11-21T21:00:00Z", "36h": "2026-11-21T21:00:00Z",
		"2026-11-16": "2026-11-15T23:00:00Z", "2026-11-16T09:00:00+01:00": "2026-11-16T08:00:00Z",
		"yesterday": "", "-8d": "", "8": "", "d": "",
	} {
		got := ""
		if at, ok := take.InstantOf(text, now, berlin); ok {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
