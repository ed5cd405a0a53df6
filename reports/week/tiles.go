package week

import (
	"fmt"

	"tidemark/analysis/week"
)

// tile is one of the six headline figures.
type tile struct {
	Label, Value, Basis string
	IsBroken            bool
	Sign                sign
	Before              string // last week's value in words
}

// sign says how a figure stands to last week's.
type sign struct {
	Mark  string // ▲ ▼ ~ or nothing
	Words string // the same for screen readers
	Class string // good or bad, only where up or down plainly is
}

// goodness says which direction of a figure is good.
type goodness int

const (
	neither goodness = iota
	upIsGood
	downIsGood
)

// signOf is the sign of a change. A change without an interval has none, because nothing tells whether it is one.
func signOf(c *week.Change, good goodness) sign {
	switch {
	case c == nil || c.Ratio == nil || c.Low == nil || c.High == nil:
		return sign{}
	case !c.IsTold:
		return sign{Mark: "~", Words: "no difference that can be told: "}
	}
	s, isGood := sign{Mark: "▲", Words: "up "}, good == upIsGood
	if *c.Ratio < 0 {
		s, isGood = sign{Mark: "▼", Words: "down "}, good == downIsGood
	}
	switch {
	case good == neither:
	case isGood:
		s.Class = "good"
	default:
		s.Class = "bad"
	}
	return s
}

// before words last week's value: "from 39.6" after an arrow, else "39.6 last week".
func (f *facts) before(s sign, value string) string {
	switch {
	case f.Last == nil && len(f.Before) == 0:
		return "first week"
	case f.Last == nil || value == "" || value == unknown:
		return "not known last week"
	case s.Mark == "▲" || s.Mark == "▼":
		return "from " + value
	}
	return value + " last week"
}

// compared gives a tile its sign and last week's value.
func (f *facts) compared(t tile, figure string, good goodness, value string) tile {
	t.Sign = signOf(f.change(figure), good)
	switch {
	case f.Last == nil || value == "" || value == unknown:
		t.Sign = sign{}
	case value == t.Value && t.Sign.Mark != "": // a fall between two figures that read alike says nothing
		t.Sign = signOf(&week.Change{Ratio: new(0.0), Low: new(0.0), High: new(0.0)}, good)
	}
	t.Before = f.before(t.Sign, value)
	return t
}

// lastOf is a figure of last week in words, or nothing.
func (f *facts) lastOf(write func(s *week.Sums) string) string {
	if f.Last == nil {
		return ""
	}
	return write(f.Last)
}

func (f *facts) tiles() []tile {
	return []tile{f.busiestTile(), f.headroomTile(), f.hoursTile(), f.costTile(), f.withinTile(), f.tpotTile()}
}

func (f *facts) busiestTile() tile {
	t := tile{Label: "Busiest hour", Value: of(f.Sums.PeakRatePerS, rate), Basis: "busiest five minutes"}
	if f.Busiest != nil {
		t.Label += ", " + f.hour(f.Busiest.Start)
	}
	return f.compared(t, "peak_rate_per_s", neither, f.lastOf(func(s *week.Sums) string { return of(s.PeakRatePerS, figures) }))
}

func (f *facts) headroomTile() tile {
	t := tile{Label: "Headroom", Value: of(f.Margin, sparePercent), Basis: "needs a capacity"}
	if !f.ChangedAt.IsZero() { // the headline and this tile judge what is paid for now
		t.Label += ", " + replicas(f.Paid) + " since " + f.local(f.ChangedAt).Format("Mon")
	}
	if f.Margin != nil {
		t.Basis = f.ends()
		if f.Sums.MissingHours > 0 {
			t.Basis += ", in the hours known"
		}
		if t.IsBroken = f.Verdict.Kind == week.Buy; t.IsBroken && f.Margin != nil && *f.Margin >= 0 {
			t.Basis += "; too little in " + counted(len(f.ShortNow), "other hour")
		}
	}
	last := f.lastOf(func(s *week.Sums) string { return of(f.Decisive(s.HeadroomRatio, s.LowHeadroom), sparePercent) })
	if !f.ChangedAt.IsZero() { // the change is of the headroom as it was
		t.Before = f.before(t.Sign, last)
		return t
	}
	return f.compared(t, "headroom_ratio", upIsGood, last)
}

// ends says at which end of the capacity the margin is, and what it is at the other.
func (f *facts) ends() string {
	this, that, other := "middle", "low end", f.MarginLow
	if f.Margin == f.MarginLow {
		this, that, other = "low end", "middle", f.MarginMiddle
	}
	if other == nil {
		return "at capacity’s " + this
	}
	return "at capacity’s " + this + "; " + sparePercent(*other) + " at its " + that
}

func (f *facts) hoursTile() tile {
	t := tile{Label: "GPU-hours needed, at capacity’s middle", Value: of(f.Sums.GPUHoursNeeded, count[float64]), Basis: fmt.Sprintf("%s paid, %s of them covered", count(f.Sums.GPUHoursPaid), count(f.Sums.GPUHoursCovered))}
	if f.Sums.GPUHoursCovered == f.Sums.GPUHoursPaid {
		t.Basis = count(f.Sums.GPUHoursPaid) + " paid"
	}
	if part := partNeeded(&f.Sums); part != "" {
		t.Basis = part + " of the " + count(f.Sums.GPUHoursCovered) + " paid"
		if f.Sums.MissingHours > 0 {
			t.Basis += " in covered hours"
		}
	}
	return f.compared(t, "gpu_hours_needed", neither, f.lastOf(func(s *week.Sums) string {
		if f.Sums.MissingHours == 0 && s.MissingHours == 0 {
			return of(s.GPUHoursNeeded, count[float64])
		}
		return partNeeded(s)
	}))
}

// partNeeded is the share of the covered paid GPU-hours that was needed.
func partNeeded(s *week.Sums) string {
	if s.GPUHoursNeeded == nil || s.GPUHoursCovered <= 0 {
		return ""
	}
	return percent(*s.GPUHoursNeeded / s.GPUHoursCovered)
}

func (f *facts) costTile() tile {
	t := tile{Label: "Per million accepted output tokens", Value: of(f.Sums.USDPerMillion, dollars), Basis: between(f.Sums.LowUSDPerMillion, f.Sums.HighUSDPerM, amount)}
	switch {
	case f.Price.USDPerGPUHour == nil:
		t.Basis = "needs a price in " + f.file()
	case f.Sums.USDPerMillion == nil && f.Sums.IsMet != nil && !*f.Sums.IsMet:
		t.Basis = "none: the SLO was not met"
	case f.Sums.IsPredicted && t.Basis != "":
		t.Basis += ", predicted"
	case f.Sums.IsPredicted:
		t.Basis = "predicted"
	}
	return f.compared(t, "usd_per_million_accepted", downIsGood, f.lastOf(func(s *week.Sums) string { return of(s.USDPerMillion, dollars) }))
}

func (f *facts) withinTile() tile {
	t := tile{Label: "Requests within the SLO", Value: of(f.Sums.WithinSLO, sharePercent), Basis: sharesOf(f.Sums.LowWithinSLO, f.Sums.HighWithinSLO)}
	if f.Sums.IsPredicted {
		t.Label += ", predicted"
	}
	if limit := f.limitPercent(); limit > 0 {
		if t.Basis != "" {
			t.Basis += ", "
		}
		t.Basis += "limit" + unbroken + set(fmt.Sprintf("%g", limit))
	}
	if n := len(f.Short); f.Sums.IsPredicted && n > 0 { // a mean over the week hides the hours that do not hold
		t.Basis, t.IsBroken = sharesOf(f.Sums.LowWithinSLO, f.Sums.HighWithinSLO)+fmt.Sprintf(" over all hours, %s short of replicas", counted(n, "hour")), true
	}
	t.IsBroken = t.IsBroken || f.Sums.IsMet != nil && !*f.Sums.IsMet && f.Sums.WithinSLO != nil && *f.Sums.WithinSLO*100 < f.limitPercent()
	return f.compared(t, "within_slo_ratio", upIsGood, f.lastOf(func(s *week.Sums) string { return of(s.WithinSLO, sharePercent) }))
}

// sharesOf is the interval of a share, or nothing where an end is not known.
func sharesOf(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return shares(*low, *high)
}

func sharePercent(ratio float64) string { return share(ratio) + narrow + "%" }

// limitPercent is the share of requests that the strictest objective wants within its bound.
func (f *facts) limitPercent() float64 {
	most := 0.0
	for _, o := range f.SLO.Objectives {
		most = max(most, o.Percent)
	}
	return most
}

func (f *facts) tpotTile() tile {
	times := func(x float64) string { return figures(x) + "×" }
	t := tile{Label: "Time per token over the prediction", Value: of(f.Sums.TPOTRatio, times), Basis: between(f.Sums.LowTPOTRatio, f.Sums.HighTPOTRatio, figures)}
	if f.Sums.TPOTRatio == nil {
		t.Basis = "needs production’s metrics"
	} else if f.Sums.BandRatio != nil {
		if t.Basis != "" {
			t.Basis += ", "
		}
		t.Basis += "band to" + unbroken + figures(1+*f.Sums.BandRatio)
		t.IsBroken = f.Sums.LowTPOTRatio != nil && *f.Sums.LowTPOTRatio > 1+*f.Sums.BandRatio
	}
	return f.compared(t, "tpot_over_predicted_ratio", downIsGood, f.lastOf(func(s *week.Sums) string { return of(s.TPOTRatio, times) }))
}
