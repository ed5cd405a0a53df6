package plan

import (
	"fmt"
)

// Scaled is the plan that Write makes with these choices, in memory: for a search that looks at the same requests at many
// scales. The requests come in order of due time; they are not changed.
func Scaled(requests []Request, choices Choices) ([]Request, error) {
	choices, err := choices.settled()
	if err != nil {
		return nil, err
	}
	header := Header{}
	d := &draft{choices: choices, header: &header, isInMemory: true, cut: map[uint64]bool{}}
	t := newTotals(&header)
	scaled := make([]Request, 0, int(float64(len(requests))*choices.Thin*choices.Thicken*1.1)+8)
	for req, err := range d.chosen(Each(requests)) {
		if err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
		t.add(&req)
		scaled = append(scaled, req)
	}
	return scaled, d.refusal()
}

// ScaledBy are choices that multiply the load: by speed, or by dropping or cloning whole sessions. The same seed keeps one order of
// sessions, so that a larger multiple by sessions contains the smaller.
func ScaledBy(scale float64, bySpeed bool, seed uint64) Choices {
	switch {
	case bySpeed:
		return Choices{Speed: scale, Seed: seed}
	case scale < 1:
		return Choices{Thin: scale, Seed: seed}
	}
	return Choices{Thicken: scale, Seed: seed}
}
