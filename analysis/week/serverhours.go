package week

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/store/warehouse"
)

// ServerHour is what the metrics of all replicas say of one hour (macros.fleet_hours).
type ServerHour struct {
	Start   time.Time          `json:"-"`
	Sums    map[string]float64 `json:"-"`      // by column; one that no source knows is absent
	Waiting []float64          `json:"queues"` // mean queue of an engine in each quarter of the hour that has looks
	GPUs    []gpuHour          `json:"gpus"`
}

// gpuHour is one GPU in one hour. A nil number is not known.
type gpuHour struct {
	Name        string   `json:"gpu"`
	ClockHz     *float64 `json:"clock_hz"`
	MemoryHz    *float64 `json:"memory_hz"`
	DRAMActive  *float64 `json:"dram_active_ratio"`
	Throttled   *float64 `json:"throttled_ratio"`
	Temperature *float64 `json:"temperature_c"`
}

// ServerHours reads what the sources say of each of the hours. Hours of which they say nothing are left out.
func ServerHours(ctx context.Context, db *sql.DB, sourceIDs []int64, hours []Hour) (all []ServerHour, err error) {
	if len(sourceIDs) == 0 || len(hours) == 0 {
		return nil, nil
	}
	err = warehouse.Each(ctx, db, fmt.Sprintf(`select hour_start, to_json(hours)::varchar
from macros.fleet_hours(%s, %s) as hours
order by hour_start`, list(sourceIDs), starts(hours)), nil, func(scan func(...any) error) error {
		h := ServerHour{Sums: map[string]float64{}}
		var text string
		if err := scan(&h.Start, &text); err != nil {
			return err
		}
		columns := map[string]any{}
		if err := errors.Join(json.Unmarshal([]byte(text), &h), json.Unmarshal([]byte(text), &columns)); err != nil {
			return err
		}
		for column, value := range columns {
			if sum, isKnown := value.(float64); isKnown {
				h.Sums[column] = sum
			}
		}
		h.Start = hours[slices.IndexFunc(hours, func(o Hour) bool { return o.Start.Equal(h.Start) })].Start
		all = append(all, h)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("macros.fleet_hours: %w", err)
	}
	return all, nil
}

// starts is an SQL list of the hours' first instants.
func starts(hours []Hour) string {
	var all []string
	for _, hour := range hours {
		all = append(all, hour.Start.UTC().Format(time.RFC3339))
	}
	return "['" + strings.Join(all, "', '") + "']::timestamptz[]"
}

// ratio is one sum over another; false where either is not known, or there is nothing to divide by.
func (h ServerHour) ratio(above, below string) (float64, bool) {
	a, isKnown := h.Sums[above]
	b := h.Sums[below]
	return a / b, isKnown && b > 0
}
