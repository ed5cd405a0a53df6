package answers

import "testing"

// Functions that write passed as queries that only read.
func TestEffect(t *testing.T) {
	for query, want := range map[string]string{
		"from checkpoint()": "checkpoint",
		"select * from enable_logging('QueryLog', storage='file')": "enable_logging",
		"from ENABLE_PROFILING ()":                                 "enable_profiling",
		`from "checkpoint"()`:                                      "checkpoint",
		"from main.checkpoint/* a */\n-- b\n()":                    "checkpoint",
		"select '--', * from checkpoint/**/()":                     "checkpoint",
		"from query('from checkpoint()')":                          "checkpoint",
		"from query($$ from checkpoint() $$)":                      "checkpoint",
		"from query($a$ from checkpoint() $a$)":                    "checkpoint",
		`select e'\'', * from checkpoint()`:                        "checkpoint",
		"select 'it''s', checkpoint from runs where (x)":           "",
		"select checkpoint, (1) from runs":                         "",
		"select name as write_log from staging.runs":               "",
		"select 'checkpoint' from runs -- checkpoint()":            "",
		"select count(*) from marts.runs":                          "",
		"select $1, '":                                             "",
	} {
		if got := Effect(query); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}
