package engines

import (
	"bytes"
	"cmp"
	"slices"
)

// throttleGauges are dcgm-exporter's, of which it has one or the other: bits that say what holds a GPU's clock down.
var throttleGauges = []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"}

// throttleCauses are the bits in words, as macros.throttle_causes has them. Idle (1) and clocks that the user set (2) hold nothing down.
var throttleCauses = []struct {
	bits uint64
	word string
}{{32 | 64, "heat"}, {4 | 128, "power"}, {8, "hardware"}, {^uint64(239), "other"}}

// Throttle is a GPU, by its number or else its UUID, and one cause that holds its clock down.
type Throttle struct{ GPU, Cause string }

// ThrottlesIn reads what holds clocks down out of an exposition of GPUs, sorted.
func ThrottlesIn(text []byte) (held []Throttle) {
	for _, gauge := range throttleGauges {
		if !bytes.Contains(text, []byte(gauge)) { // what most expositions are would be parsed for nothing
			continue
		}
		for _, m := range familiesIn(text)[gauge].GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			bits := uint64(m.GetGauge().GetValue() + m.GetUntyped().GetValue())
			for _, cause := range throttleCauses {
				if bits&cause.bits != 0 {
					held = append(held, Throttle{cmp.Or(labels["gpu"], labels["UUID"]), cause.word})
				}
			}
		}
	}
	slices.SortFunc(held, func(a, b Throttle) int { return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Cause, b.Cause)) })
	return slices.Compact(held)
}
