package seeded

import (
	"time"
	_ "time/tzdata" // the demo must not depend on the machine's zones
)

// The five weeks of Demo, by the clock of Europe/Berlin. Clocks go back on 25 October, in the fourth of them; DemoWeek is the fifth.
const (
	DemoWeek  = "2026-W44"
	demoZone  = "Europe/Berlin"
	demoWeeks = 5
)

// DemoParts are the stretches that were recorded. Between them, on Thursday of DemoWeek from 14:00 to 17:00, the gateway kept no
// log.
func DemoParts() [2]Gap {
	zone := mustLoad(demoZone)
	begin := time.Date(2026, time.September, 28, 0, 0, 0, 0, zone)
	return [2]Gap{
		{begin, time.Date(2026, time.October, 29, 14, 0, 0, 0, zone)},
		{time.Date(2026, time.October, 29, 17, 0, 0, 0, zone), begin.AddDate(0, 0, 7*demoWeeks)},
	}
}

// Demo is the service of "tidemark demo": questions about long documents to a 70B model on one H200 a replica. A replica takes so few of
// them that a million requests in five weeks need two to six. On an H200 kernels were timed, so that the page's interval is narrow enough
// to decide by.
func Demo() Service {
	parts := DemoParts()
	return Service{
		Seed: 1, Zone: parts[0].From.Location(), Begin: parts[0].From,
		RatePerS: 0.57, Shape: OfficeHours(0.27), Growth: 0.025, Noise: 0.03,
		Holidays: []Holiday{{Day: "2026-10-03", Factor: 0.8}},
		Gaps:     []Gap{{parts[0].Until, parts[1].From}},
		Classes: []Class{{
			Share: 1, Input: Lengths{Median: 14_000, Sigma: 0.3, Most: 31_000}, Output: Lengths{Median: 60, Sigma: 0.4, Most: 400},
		}},
	}
}

func mustLoad(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err) // time/tzdata has it
	}
	return zone
}
