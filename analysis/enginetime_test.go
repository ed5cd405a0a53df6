//go:build duckdb_arrow

package analysis_test

import (
	"testing"

	"tidemark/analysis"
	"tidemark/internal/store/warehouse/warehousetest"
)

func TestASentenceSaysWhereTheTimeOfTheEngineWent(t *testing.T) {
	w := warehousetest.Open(t)
	warehousetest.Put(t, w, `
insert into marts.step_kinds by name
select 'a' as run_id, 'counts' as measured_by, kind, batch_up_to, steps, time_ratio
from (values ('decode', 64, 1000, 0.4), ('decode', 128, 200, 0.2), ('mixed', 64, 34, 0.1), ('idle', 0, 0, 0.3)) as kinds (kind, batch_up_to, steps, time_ratio)`)
	for run, want := range map[string]string{
		"a": "1,234 engine steps; of the time with requests in flight 60.0 % decoding alone, 10.0 % decoding and prompts, 30.0 % the GPU waiting",
		"b": "",
	} {
		sentences, err := analysis.EngineTime(t.Context(), w.DB(), run)
		if err != nil || want == "" && len(sentences) > 0 || want != "" && (len(sentences) != 1 || sentences[0] != want) {
			t.Errorf("%s: got %q, %v, want %q", run, sentences, err, want)
		}
	}
}
