package tables

import (
	"errors"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/proof/must"
)

func TestHuman(t *testing.T) {
	for _, c := range []struct {
		column string
		value  any
		want   string
	}{
		{"memory_bytes", 85520809984.0, "85.5 GB"},
		{"kv_bytes", int64(131072), "131 kB"},
		{"hbm_bytes_per_s", 3.35e12, "3.35 TB/s"},
		{"bf16_flop_per_s", 989e12, "989 TFLOP/s"},
		{"tpot_s", 13.2e-3, "13.2 ms"},
		{"duration_s", int64(60), "60.0 s"},
		{"output_tokens", int64(1234), "1,234"},
		{"input_tokens", 1234.0, "1,234"},
		{"mean_rate_per_s", 13.53, "13.5/s"},
		{"source_id", int64(1234), "1234"},
		{"seed", int64(20261122), "20261122"},
		{"sm_clock_hz", 1.98e9, "1.98 GHz"},
		{"power_w", 512.4, "512 W"},
		{"reused_ratio", 0.1234, "0.123"},
		{"name", "1234", "1234"},
		{"tpot_s", nil, "-"},
		{"evil", "a\x1b[2J", `a\x1b[2J`},
	} {
		if got := Human(c.column, c.value); got != c.want {
			t.Errorf("Human(%s, %v): got %q, want %q", c.column, c.value, got, c.want)
		}
	}
}

// A list whose columns do not fit stays a list: the last of them is narrow, and the lines are longer than asked.
func TestAListIsNeverTransposed(t *testing.T) {
	var text strings.Builder
	table := answers.Table{Columns: []string{"name", "meaning"}, Rows: [][]any{{strings.Repeat("n", 30), strings.Repeat("word ", 10)}}}
	must.Do(t, Write(NewList(&text, 40), table))
	want := "name" + strings.Repeat(" ", 28) + "meaning\n" + strings.Repeat("n", 30) + "  word word word word word word\n" + strings.Repeat(" ", 32) + "word word word word\n"
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

// The name of an expression may be wider than a terminal, and its number is not cut.
func TestABoxFoldsLongNames(t *testing.T) {
	var text strings.Builder
	table := answers.Table{Columns: []string{strings.Repeat("f(x) + ", 12)}, Rows: [][]any{{1234567.0}}}
	must.Do(t, Write(NewBox(&text, 60, 0, ""), table))
	for line := range strings.Lines(text.String()) {
		if len([]rune(line)) > 61 {
			t.Errorf("too wide: %s", line)
		}
	}
	must.Say(t, text.String(), " 1,234,567 │")
}

// Of a list of runs five columns did not fit 80: names are wider than the numbers below them.
func TestABoxFoldsNamesOfNumbers(t *testing.T) {
	var text strings.Builder
	table := answers.Table{Columns: []string{"run", "p99_ttft_s", "p99_tpot_s"}, Rows: [][]any{{"t-0bff", 37.3e-3, 8.82e-3}}}
	must.Do(t, Write(NewBox(&text, 30, 0, ""), table))
	const want = `
┌────────┬─────────┬─────────┐
│ run    │    p99_ │    p99_ │
│        │  ttft_s │  tpot_s │
├────────┼─────────┼─────────┤
│ t-0bff │ 37.3 ms │ 8.82 ms │
└────────┴─────────┴─────────┘
`
	if got := "\n" + text.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestBox(t *testing.T) {
	columns := []string{"run_id", "note", "tpot_s"}
	rows := [][]any{{"a", "a text that is longer than its column can be", 10e-3}, {"b", nil, 2.5}}
	for _, c := range []struct {
		why         string
		width, most int
		want        string
	}{
		{"a long text goes on below itself", 46, 0, `
┌────────┬─────────────────────────┬─────────┐
│ run_id │ note                    │  tpot_s │
├────────┼─────────────────────────┼─────────┤
│ a      │ a text that is longer   │ 10.0 ms │
│        │ than its column can be  │         │
│ b      │ -                       │  2.50 s │
└────────┴─────────────────────────┴─────────┘
2 rows
`},
		{"columns that do not fit are counted", 30, 0, `
┌────────┬───────────────────┐
│ run_id │ note              │
├────────┼───────────────────┤
│ a      │ a text that is    │
│        │ longer than its   │
│        │ column can be     │
│ b      │ -                 │
└────────┴───────────────────┘
2 rows
2 of 3 columns fit; --line shows all
`},
		{"enough is enough", 80, 1, `
┌────────┬──────────────────────────────────────────────┬─────────┐
│ run_id │ note                                         │  tpot_s │
├────────┼──────────────────────────────────────────────┼─────────┤
│ a      │ a text that is longer than its column can be │ 10.0 ms │
└────────┴──────────────────────────────────────────────┴─────────┘
the first 1 of more rows
`},
	} {
		var text strings.Builder
		box := NewBox(&text, c.width, c.most, "--line shows all")
		err := Write(box, answers.Table{Columns: columns, Rows: rows})
		if errors.Is(err, ErrEnough) {
			err = box.Enough()
		}
		if got := "\n" + text.String(); got != c.want || err != nil {
			t.Errorf("%s: got %v%s\nwant%s", c.why, err, got, c.want)
		}
	}
}

// An object with two values of one name loses the first.
func TestJSONHasDistinctNames(t *testing.T) {
	var text strings.Builder
	table := answers.Table{Columns: []string{"run_id", "run_id", "run_id_2", "run_id"}, Rows: [][]any{{"a", "b", "c", "d"}}}
	must.Do(t, Write(NewJSON(&text), table))
	const want = `{"run_id": "a", "run_id_3": "b", "run_id_2": "c", "run_id_4": "d"}`
	must.Say(t, text.String(), want)
}

// A spreadsheet runs a cell that begins like a formula: names of columns, and cells that are copied, came out as they are.
func TestCSVHoldsNoFormula(t *testing.T) {
	type given string
	var out strings.Builder
	table := answers.Table{
		Columns: []string{"=cmd|calc", "given", "text", "number", "none"},
		Rows:    [][]any{{"a", given("=1+1"), "\n=1+1", -1.5, nil}, {"b", given("-1.5"), "-1.5", int64(-2), nil}, {"c", given("@note"), "+x", 1.0, nil}},
	}
	must.Do(t, Write(NewCSV(&out), table))
	want := "'=cmd|calc,given,text,number,none\na,'=1+1,\"'\n=1+1\",-1.5,\nb,-1.5,'-1.5,-2,\nc,'@note,'+x,1,\n"
	if out.String() != want {
		t.Errorf("got %q\nwant %q", out.String(), want)
	}
}
