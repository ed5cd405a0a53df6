//go:build duckdb_arrow

package week

import (
	"context"
	"testing"

	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Sessions are counted in the week alone, each once; what names none is in no session. Waits of 1 to 9 s: p50 5 s, p90 8.2 s by hand.
func TestTheSessionsOfAWeek(t *testing.T) {
	db := warehousetest.Open(t, around+`
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, session_id, turn)
select 3, 100 + n, 45_000_000_000_000 + n * 10_000_000_000, 100, 10, 'agent-' || n // 6, n % 6 from range(12) as r(n);
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, session_id, turn)
select 3, 200, 45_000_000_000_000 + 30 * 86_400_000_000_000, 100, 10, 'of another month', 0;
insert into raw.arrival_details (source_id, line, think_s)
select 3, 101 + n + n // 5, 1 + n from range(9) as r(n);`).DB()
	ctx := context.Background()
	conn := must.Get(db.Conn(ctx))(t)
	defer conn.Close()
	for _, c := range []struct {
		traffic string
		want    *Agents
	}{
		{"[quiet]", &Agents{Sessions: 2, Rounds: 12, Waits: 9, P50WaitS: new(5.0), P90WaitS: new(8.2)}},
		{"[a]", nil},
	} {
		f := read(t, c.traffic)
		got := must.Get(addUp(ctx, conn, must.Get(service.ParseWeek("2026-W43", f.Zone))(t), must.Get(parts(ctx, conn, f))(t)))(t).Agents
		if got == nil || c.want == nil {
			if got != c.want {
				t.Errorf("%s: %+v, want %+v", c.traffic, got, c.want)
			}
			continue
		}
		if got.Sessions != c.want.Sessions || got.Rounds != c.want.Rounds || got.Waits != c.want.Waits ||
			*got.P50WaitS != *c.want.P50WaitS || *got.P90WaitS < 8.19 || *got.P90WaitS > 8.21 {
			t.Errorf("%s: %+v, p50 %g, p90 %g", c.traffic, got, *got.P50WaitS, *got.P90WaitS)
		}
	}
}
