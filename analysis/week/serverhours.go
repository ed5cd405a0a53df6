package week

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What the servers of a fleet said of themselves, hour by hour. macros.server_quarters and macros.gpu_quarters have sums by the quarter of an
// hour, because the hours of a zone may begin at any of the four. Here they are added up to hours, over all sources and replicas.

// ServerHour is what the metrics of all replicas say of one hour. Sums are columns of macros.server_quarters; one that no source knows is absent.
type ServerHour struct {
	Start time.Time
	Sums  map[string]float64
	// Waiting is the mean queue of an engine in each quarter of the hour that has looks.
	Waiting []float64
	GPUs    []gpuHour
}

// gpuHour is one GPU in one hour. A nil number is not known.
type gpuHour struct {
	name                                                  string
	clockHz, memoryHz, dramActive, throttled, temperature *float64
}

// serverColumns are added up, but for those of which the most counts.
var serverColumns = []string{
	"engine_looks", "running", "running_squares", "kv_running", "kv_used_ratio", "max_kv_used_ratio", "kv_cache_tokens", "waiting_looks", "waiting",
	"max_waiting", "queued_looks", "running_while_queued", "gaps", "gap_s", "tpot_requests", "tpot_s", "prompt_tokens", "cached_tokens",
	"generation_tokens", "finished_requests", "preemptions", "rejections", "drafts", "accepted_tokens",
}

// isMost says that of a column the most counts, and not the sum.
func isMost(column string) bool {
	return strings.HasPrefix(column, "max_") || column == "kv_cache_tokens"
}

// ServerHours reads what the sources say of each of the hours. Hours of which they say nothing are left out.
func ServerHours(ctx context.Context, db *sql.DB, sourceIDs []int64, hours []Hour) ([]ServerHour, error) {
	if len(sourceIDs) == 0 || len(hours) == 0 {
		return nil, nil
	}
	all := make([]ServerHour, len(hours))
	for i, h := range hours {
		all[i] = ServerHour{Start: h.Start, Sums: map[string]float64{}}
	}
	err := eachQuarter(ctx, db, "macros.server_quarters", "''", serverColumns, sourceIDs, hours, func(hour int, _ string, values []*float64) {
		all[hour].add(values)
	})
	if err != nil {
		return nil, err
	}
	if err := addGPUs(ctx, db, sourceIDs, hours, all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(h ServerHour) bool { return len(h.Sums) == 0 && len(h.GPUs) == 0 }), nil
}

// add takes in one quarter, its values in the order of serverColumns.
func (h *ServerHour) add(values []*float64) {
	quarter := map[string]float64{}
	for i, value := range values {
		if value == nil {
			continue
		}
		column := serverColumns[i]
		quarter[column] = *value
		if isMost(column) {
			h.Sums[column] = max(h.Sums[column], *value)
		} else {
			h.Sums[column] += *value
		}
	}
	if looks := quarter["waiting_looks"]; looks > 0 {
		h.Waiting = append(h.Waiting, quarter["waiting"]/looks)
	}
}

// ratio is one sum over another; false where either is not known, or there is nothing to divide by.
func (h ServerHour) ratio(above, below string) (float64, bool) {
	a, isKnown := h.Sums[above]
	b := h.Sums[below]
	return a / b, isKnown && b > 0
}

// gpuColumns are of macros.gpu_quarters.
var gpuColumns = []string{
	"busy_looks", "sm_clock_hz", "memory_clock_hz", "dram_looks", "dram_active_ratio", "throttle_looks", "throttled_looks", "max_temperature_c",
}

// addGPUs reads the GPUs' hours into those of the servers.
func addGPUs(ctx context.Context, db *sql.DB, sourceIDs []int64, hours []Hour, into []ServerHour) error {
	type place struct {
		hour int
		gpu  string
	}
	sums := map[place]map[string]float64{}
	var order []place
	err := eachQuarter(ctx, db, "macros.gpu_quarters", "gpu", gpuColumns, sourceIDs, hours, func(hour int, gpu string, values []*float64) {
		at := place{hour, gpu}
		if sums[at] == nil {
			sums[at] = map[string]float64{}
			order = append(order, at)
		}
		for i, value := range values {
			switch column := gpuColumns[i]; {
			case value == nil:
			case column == "memory_clock_hz" || isMost(column):
				sums[at][column] = max(sums[at][column], *value)
			default:
				sums[at][column] += *value
			}
		}
	})
	for _, at := range order {
		of := sums[at]
		over := func(above, below string) *float64 {
			if of[below] > 0 {
				return new(of[above] / of[below])
			}
			return nil
		}
		one := gpuHour{
			name: at.gpu, clockHz: over("sm_clock_hz", "busy_looks"), dramActive: over("dram_active_ratio", "dram_looks"),
			throttled: over("throttled_looks", "throttle_looks"),
		}
		if hz := of["memory_clock_hz"]; hz > 0 {
			one.memoryHz = &hz
		}
		if hottest, isKnown := of["max_temperature_c"]; isKnown {
			one.temperature = &hottest
		}
		into[at.hour].GPUs = append(into[at.hour].GPUs, one)
	}
	return err
}

// eachQuarter reads columns of a macro of quarters and finds the hour of each row. Rows come in order, so that sums are the same each time.
func eachQuarter(ctx context.Context, db *sql.DB, quarters, name string, columns []string, sourceIDs []int64, hours []Hour,
	take func(hour int, name string, values []*float64)) error {
	places := map[int64]int{}
	for i, h := range hours {
		for quarter := range 4 {
			places[h.Start.Unix()+int64(quarter)*900] = i
		}
	}
	rows, err := db.QueryContext(ctx, `
select
    `+name+` as name,
    epoch(quarter_start)::bigint,
    `+strings.Join(columns, "::double, ")+`::double
from `+quarters+`(`+list(sourceIDs)+`, to_timestamp(?::bigint), to_timestamp(?::bigint))
order by
    quarter_start,
    source_id,
    name`, hours[0].Start.Unix(), hours[len(hours)-1].Start.Unix()+3600)
	if err != nil {
		return fmt.Errorf("%s: %w", quarters, err)
	}
	defer rows.Close()
	for rows.Next() {
		var of string
		var start int64
		values := make([]*float64, len(columns))
		to := []any{&of, &start}
		for i := range values {
			to = append(to, &values[i])
		}
		if err := rows.Scan(to...); err != nil {
			return fmt.Errorf("%s: %w", quarters, err)
		}
		if hour, isKnown := places[start]; isKnown {
			take(hour, of, values)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", quarters, err)
	}
	return nil
}
