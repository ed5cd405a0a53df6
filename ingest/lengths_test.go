//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

const (
	allCells = `select window_from_s, window_until_s, class, client, input_above, input_up_to, output_above, output_up_to, requests from raw.length_cells
		order by window_from_s nulls last, input_up_to nulls last, output_up_to nulls last, input_above`
	allRates = `select client, window_from_s, window_until_s, requests, gap_cv, gap_family, gap_shape, gap_scale_s from raw.rate_windows order by client, window_from_s`
)

func TestTablesOfLengthsAndRates(t *testing.T) {
	cases := []struct{ file, query, want string }{
		{"lengths.csv", allCells, "0.0 600.0 chat  0 100 0 50 12.5|0.0 600.0 chat 2 100  50  3.0|    100 200   1.0"},
		{"rates.csv", allRates, "3 600.0 1200.0 0.0    | 0.0 600.0 120.0 1.5 gamma 0.4444 11.25"},
		{"vidur-lengths.csv", allCells, "    373 374 43 44 1.0|    395 396 108 109 1.0"},
		// 0.5/s for 600 s are 300 requests; the last window is as long as the one before it.
		{"servegen/chunk-3-trace.csv", allRates, "3 0.0 600.0 300.0 2.0 gamma 0.25 8.0|3 600.0 1200.0 0.0    |3 1200.0 1800.0 150.0 0.5 weibull 2.1 4.5"},
		// As text "108000" is before "21600", and its window would end before it begins.
		{"servegen/chunk-3-dataset.json", allCells, "0.0 21600.0  3 6 7   0.75|0.0 21600.0  3 38 39   0.25|0.0 21600.0  3   -1 0 0.1|0.0 21600.0  3   11 12 0.9|" +
			"21600.0 108000.0  3 7 8   1.0|21600.0 108000.0  3   8 9 1.0|108000.0 194400.0  3 99 100   1.0"},
	}
	for _, c := range cases {
		w := open(t)
		result := load(t, w, "../fixtures/traces/"+c.file, ingest.Options{})
		answers(t, w, c.query, c.want)
		if kept := int64(strings.Count(c.want, "|") + 1); result.RowsKept != kept || result.RowsRejected != 0 {
			t.Errorf("%s: got %+v, want %d rows", c.file, result, kept)
		}
		answers(t, w, "select kind, count(*) from raw.sources left join checks.rows_add_up on true group by all", "lengths 1")
	}
}

// A client of ServeGen whose other file is not there is taken in, and that is said.
func TestServeGenWithoutItsPartner(t *testing.T) {
	w := open(t)
	alone := load(t, w, "../fixtures/traces/servegen/chunk-7-trace.csv", ingest.Options{})
	whole := load(t, w, "../fixtures/traces/servegen/chunk-3-trace.csv", ingest.Options{})
	must.Say(t, strings.Join(alone.Notes, "\n"), "no chunk-7-dataset.json next to it: this client has no lengths")
	must.NotSay(t, strings.Join(whole.Notes, "\n"), "next to it")
	answers(t, w, "select distinct collection, kind from raw.sources", "servegen lengths")
}

// What is written in a dictionary is never run, and what is none is a reject without its text.
func TestServeGenDictionaries(t *testing.T) {
	for _, bad := range []struct{ literal, reason string }{
		{`__import__('os').system('secret')`, "not a dictionary"},
		{`{39: secret}`, "not a number"},
		{`{secret: 1.0}`, "not an integer"},
		{`{39: nan}`, "not a finite number"},
		{`{39: -0.5}`, "negative"},
		{`{39 0.5}`, "not a dictionary"},
		{`[39, 0.5]`, "not a dictionary"},
	} {
		content := fmt.Sprintf(`{"0": {"input_tokens": "%s", "output_tokens": "{1: 1.0}"}}`, bad.literal)
		w := open(t)
		result := load(t, w, write(t, "d.json", []byte(content)), ingest.Options{MaxRejectedRatio: 1})
		if result.RowsKept != 1 || result.RowsRejected != 1 {
			t.Errorf("%s: got %+v", bad.literal, result)
		}
		answers(t, w, "select line, column_name, reason from raw.rejects", "1 input_tokens "+bad.reason)
		must.NotSay(t, fmt.Sprintf("%+v", result), "secret")
	}
}

// Cells that cannot be are rejects, each by its column.
func TestCellsThatCannotBe(t *testing.T) {
	const lengths, rates = "window_from_s,window_until_s,input_above,input_up_to,requests\n", "window_from_s,window_until_s,requests,gap_family\n"
	for _, c := range []struct{ content, want string }{
		{lengths + "0,1,5,5,1\n", "2 input_up_to out of range"},
		{lengths + "5,5,1,5,1\n", "2 window_until_s out of range"},
		{lengths + ",,,5,\n", "2 requests missing"},
		{lengths + ",,,5,-1\n", "2 requests negative"},
		{lengths + ",,,5,NaN\n", "2 requests not a finite number"},
		{lengths + ",,,many,1\n", "2 input_up_to not an integer"},
		{rates + ",1,1,\n", "2 window_from_s missing"},
		{rates + "0,1,1,normal\n", "2 gap_family not a known word"},
	} {
		w := open(t)
		good := ",,,5,1\n"
		if strings.HasPrefix(c.content, rates) {
			good = "0,1,1,\n"
		}
		load(t, w, write(t, "l.csv", []byte(c.content+good)), ingest.Options{MaxRejectedRatio: 1})
		answers(t, w, "select line, column_name, reason from raw.rejects", c.want)
	}
}
