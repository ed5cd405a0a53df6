package sample_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"tidemark/reports/week/sample"
)

func TestTheSameWeekIsTheSameTwice(t *testing.T) {
	again := sample.All()
	for name, r := range sample.All() {
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if second, _ := json.Marshal(again[name]); string(first) != string(second) {
			t.Errorf("%s: two calls differ", name)
		}
	}
}

func TestHoursOfAWeek(t *testing.T) {
	for name, want := range map[string][2]int{"report": {168, 3}, "autumn": {169, 3}, "spring": {167, 3}, "missing": {168, 60}, "falling": {168, 0}} {
		r := sample.All()[name]
		if got := [2]int{len(r.Hours), r.Sums.MissingHours}; got != want {
			t.Errorf("%s: got %v hours and missing hours, want %v", name, got, want)
		}
	}
}

func TestTheWeekIsTheOneOfTheMock(t *testing.T) {
	r := sample.Report()
	busiest := r.Hours[24+14]
	if got := [4]int{*busiest.LowNeeded, *busiest.NeededReplicas, *busiest.HighNeeded, busiest.PaidReplicas}; got != [4]int{5, 5, 6, 6} {
		t.Errorf("Tuesday 14:00: got %v replicas needed and paid", got)
	}
	if r.Week != "2026-W47" || r.UntilDay != "2026-11-22" || *r.Sums.PeakRatePerS != 41 || !r.Sums.BusiestHourStart.Equal(busiest.Start) {
		t.Errorf("got week %s until %s, peak %v at %v", r.Week, r.UntilDay, *r.Sums.PeakRatePerS, r.Sums.BusiestHourStart)
	}
	if got := *r.Sums.LowHeadroom; got < 0.16 || got > 0.18 {
		t.Errorf("headroom: got %v, want 17 %%", got)
	}
}

// Between them the weeks fill every field of the contract.
func TestEveryFieldIsFilled(t *testing.T) {
	filled, seen := map[string]bool{}, map[string]bool{}
	for _, r := range sample.All() {
		walk(reflect.ValueOf(r).Elem(), "Report", filled, seen)
	}
	for field := range seen {
		if !filled[field] {
			t.Errorf("no week fills %s", field)
		}
	}
}

func walk(v reflect.Value, path string, filled, seen map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, filled, seen)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), path, filled, seen)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Name == "_" {
				continue
			}
			name := v.Type().Name() + "." + field.Name
			seen[name] = true
			filled[name] = filled[name] || !v.Field(i).IsZero()
			walk(v.Field(i), name, filled, seen)
		}
	}
}
