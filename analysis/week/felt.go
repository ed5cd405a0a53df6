package week

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/store/warehouse"
)

// feltMetrics are the latencies of production, in the order of the page, with the metrics of an SLO that bound them. A server sees a request when
// it arrives, so its TTFT is that from the due time too.
var feltMetrics = []struct {
	name string
	slo  []string
}{
	{"ttft", []string{"ttft", "ttft_from_due"}},
	{"tpot", []string{"tpot"}},
	{"queue", nil},
	{"e2e", []string{"e2e", "e2e_from_due"}},
}

// FeltIn are the latencies of production in each hour, by the histograms of the sources (macros.felt): by hour, then TTFT, TPOT, queue
// time, end to end. A latency that was not counted in an hour has no row there. Objectives of a class are left out: a histogram
// is of all requests.
func FeltIn(ctx context.Context, db *sql.DB, sourceIDs []int64, hours []Hour, slo SLO) ([]Felt, error) {
	if len(sourceIDs) == 0 || len(hours) == 0 {
		return nil, nil
	}
	counted, err := countedInHours(ctx, db, sourceIDs, hours)
	if err != nil {
		return nil, fmt.Errorf("latencies of production: %w", err)
	}
	var all []Felt
	for _, hour := range hours {
		in := counted[hour.Start.Unix()]
		for _, m := range feltMetrics {
			if f, ok := in.felt(m.name, slo.of(m.slo)); ok {
				f.Start = hour.Start
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// bucket of a histogram: how many are at most le.
type bucket struct{ le, upTo float64 }

// countedHour is what macros.felt says of one hour.
type countedHour struct {
	buckets map[string][]bucket  // by figure, ascending
	values  map[string]figureSum // by figure and part
}

type figureSum struct{ amount, coveredS float64 }

func countedInHours(ctx context.Context, db *sql.DB, sourceIDs []int64, hours []Hour) (map[int64]*countedHour, error) {
	counted := map[int64]*countedHour{}
	err := warehouse.Each(ctx, db, fmt.Sprintf(`
		select epoch(hour_start)::bigint, figure, part, le, amount, coalesce(covered_s, 0)
		from macros.felt(%s, %s)
		order by all`, list(sourceIDs), starts(hours)), nil, func(scan func(...any) error) error {
		var hour int64
		var figure, part string
		var le *float64
		var sum figureSum
		if err := scan(&hour, &figure, &part, &le, &sum.amount, &sum.coveredS); err != nil {
			return err
		}
		in := counted[hour]
		if in == nil {
			in = &countedHour{map[string][]bucket{}, map[string]figureSum{}}
			counted[hour] = in
		}
		if part == "bucket" && le != nil {
			in.buckets[figure] = append(in.buckets[figure], bucket{*le, sum.amount})
		} else {
			in.values[figure+" "+part] = sum
		}
		return nil
	})
	return counted, err
}

// felt is one latency of the hour; ok is false where none was counted.
func (in *countedHour) felt(metric string, objectives []Objective) (f Felt, ok bool) {
	if in == nil {
		return f, false
	}
	f.Metric = metric
	buckets := in.buckets[metric]
	if len(buckets) > 0 {
		f.Count = int64(math.Round(buckets[len(buckets)-1].upTo))
	}
	if f.Count <= 0 {
		return f, false
	}
	if sum, isSummed := in.values[metric+" sum"]; isSummed && sum.amount >= 0 {
		count := float64(f.Count)
		if counted, isCounted := in.values[metric+" count"]; isCounted && counted.amount > 0 {
			count = counted.amount
		}
		f.MeanS = new(sum.amount / count)
	}
	f.P50, f.P95 = quantileOf(buckets, 0.5), quantileOf(buckets, 0.95)
	if f.Count >= fewestForP99 {
		f.P99 = quantileOf(buckets, 0.99)
	}
	for i, o := range objectives {
		if i == 0 { // of the highest percentile
			f.Limit, f.Within = new(o.AtMost), withinOf(buckets, o.AtMost)
		}
		isEnough := float64(f.Count)*(1-o.Percent/100) >= 1-1e-9
		if b := quantileOf(buckets, o.Percent/100); isEnough && b != nil && b.Low >= o.AtMost {
			f.IsBroken = true
		}
	}
	switch metric {
	case "ttft":
		f.Errors, f.Rejected = in.perSecond("failed"), in.perSecond("rejected")
	case "queue":
		f.Preempt = in.perSecond("preempted")
		if v, isKnown := in.values["waiting mean"]; isKnown {
			f.Waiting = new(v.amount)
		}
		if v, isKnown := in.values["kv_used mean"]; isKnown {
			f.KVUsage = new(v.amount)
		}
	}
	return f, true
}

// perSecond is a counter's rate over the time that was looked at; nil: it was not.
func (in *countedHour) perSecond(figure string) *float64 {
	v, isKnown := in.values[figure+" value"]
	if !isKnown || v.coveredS <= 0 {
		return nil
	}
	return new(v.amount / v.coveredS)
}

// quantileOf gives the bounds of the bucket that holds a quantile: the first that reaches it.
func quantileOf(buckets []bucket, q float64) *Bounds {
	n := buckets[len(buckets)-1].upTo
	above := 0.0
	for _, b := range buckets {
		if b.upTo >= q*n-1e-9*n {
			return boundsOf(above, b.le)
		}
		above = b.le
	}
	return nil
}

func boundsOf(low, high float64) *Bounds {
	if math.IsInf(high, 1) {
		return &Bounds{Low: low}
	}
	return &Bounds{Low: low, High: new(high)}
}

// withinOf gives the share of a histogram that is at most a limit: exact where the limit is a bound of a bucket.
func withinOf(buckets []bucket, limit float64) *Bounds {
	n := buckets[len(buckets)-1].upTo
	least, most := 0.0, 1.0
	for _, b := range buckets {
		if b.le <= limit*(1+1e-9) {
			least = b.upTo / n
		}
		if b.le >= limit*(1-1e-9) {
			most = b.upTo / n
			break
		}
	}
	return &Bounds{Low: least, High: new(most)}
}

// of are the objectives on some metrics, the highest percentile first and the tighter bound before the other.
func (s SLO) of(metrics []string) (found []Objective) {
	for _, o := range s.Objectives {
		if slices.Contains(metrics, o.Metric) && o.Class == "" && o.Percent > 0 {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b Objective) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(a.AtMost, b.AtMost))
	})
	return found
}
