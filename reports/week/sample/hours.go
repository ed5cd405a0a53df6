package sample

import (
	"math"
	"time"

	"tidemark/analysis/week"
)

const (
	replicaRate, lowReplicaRate, highReplicaRate = 8.41, 7.98, 8.86 // requests a second
	gpusPerReplica                               = 2
	usdPerGPUHour                                = 2.9
	perHour                                      = gpusPerReplica * usdPerGPUHour // of one replica
	peakRate                                     = 41.0                           // Tuesday, 14:00
	peakHour                                     = 24 + 14
)

// weekday is the load of each local hour of a day of work, over that at 14:00.
var weekday = [24]float64{.27, .235, .215, .205, .21, .24, .34, .50, .70, .84, .885, .87, .85, .90, .93, .885, .86, .80, .70, .58, .49, .43, .38, .32}

// weekend is the same for Saturday and Sunday.
var weekend = [24]float64{.25, .21, .18, .17, .17, .17, .20, .26, .34, .41, .45, .47, .475, .48, .48, .47, .46, .45, .43, .41, .39, .36, .32, .28}

// hours invents the arrivals.
func (p plan) hours() []week.Hour {
	var out []week.Hour
	local := p.day(0)
	for i := 0; ; i++ {
		at := local.Add(time.Duration(i) * time.Hour)
		if !at.Before(p.day(7)) {
			return out
		}
		h := week.Hour{Start: at.UTC(), Local: at.Format("2006-01-02 15:04-07:00"), Day: (int(at.Weekday()) + 6) % 7, HourOfDay: at.Hour(),
			PaidReplicas: p.replicas, CostUSD: ptr(round(float64(p.replicas)*perHour, 4))}
		if p.missing[i] {
			h.IsMissing = true
		} else {
			p.fill(&h, i)
		}
		p.usual(&h, i)
		out = append(out, h)
	}
}

// mean is the rate of an hour before noise.
func mean(h week.Hour) float64 {
	if h.Day >= 5 {
		return peakRate * 0.94 * weekend[h.HourOfDay]
	}
	of := [5]float64{0.985, 1.02, 0.99, 0.985, 0.93}[h.Day]
	return peakRate * 0.94 * weekday[h.HourOfDay] * of
}

func (p plan) fill(h *week.Hour, i int) {
	rate := mean(*h) * p.load * (1 + 0.02*noise(1, i))
	peak := rate * (1.055 + 0.02*noise(2, i))
	if i == peakHour {
		rate, peak = 36.937*p.load, peakRate*p.load
	} else {
		peak = math.Min(peak, 0.98*peakRate*p.load)
	}
	requests := int64(math.Round(rate * 3600))
	heavier := 1 + 0.02*noise(3, i)
	h.Requests, h.RatePerS, h.PeakRatePerS = &requests, ptr(round(float64(requests)/3600, 6)), ptr(round(peak, 4))
	h.InputTokens, h.OutputTokens = ptr(int64(float64(requests)*650*heavier)), ptr(int64(float64(requests)*248*(1+0.015*noise(4, i))))
	h.P50InputTokens, h.P99InputTokens = ptr(math.Round(490*heavier)), ptr(math.Round(7910*heavier))
	h.P50OutputTokens, h.P99OutputTokens = ptr(200.0), ptr(math.Round(1040*(1+0.03*noise(5, i))))
	h.BurstRatio = ptr(round(1.6+0.5*noise(6, i), 3))
	if p.basis == "none" {
		return
	}
	correction := round(1-0.008+0.01*noise(7, i), 4)
	wider := 1.0
	if p.basis == "predicted" {
		wider = 2.4
	}
	if i == peakHour {
		correction = 1
	}
	low, high := 1-(1-lowReplicaRate/replicaRate)*wider, 1+(highReplicaRate/replicaRate-1)*wider
	centre := replicaRate * correction
	h.Correction, h.ReplicaRatePerS = &correction, ptr(round(centre, 4))
	h.LowReplicaRate, h.HighReplicaRate = ptr(round(centre*low, 4)), ptr(round(centre*high, 4))
	h.PaidRatio = ptr(1.0)
	h.NeededReplicas, h.LowNeeded, h.HighNeeded = replicas(peak, *h.ReplicaRatePerS), replicas(peak, *h.HighReplicaRate), replicas(peak, *h.LowReplicaRate)
}

func replicas(rate, each float64) *int { return ptr(int(math.Ceil(round(rate/each, 6)))) }

// usual is what the four weeks before were at the same hour.
func (p plan) usual(h *week.Hour, i int) {
	weeks := min(p.before, 4)
	if weeks == 0 {
		return
	}
	centre := mean(*h) * 3600 * p.load * math.Pow(1+p.growth, -1.6) * (1 + 0.01*noise(8, i))
	of := func(each float64) *week.Usual {
		return &week.Usual{Median: math.Round(centre * each), Low: math.Round(centre * each * (0.955 + 0.015*noise(9, i))), High: math.Round(centre * each * (1.04 + 0.015*noise(10, i))), Weeks: weeks}
	}
	h.UsualRequests, h.UsualInputTokens, h.UsualOutputTokens = of(1), of(650), of(248)
}

// sums adds the hours up.
func (p plan) sums(hours []week.Hour) week.Sums {
	s := week.Sums{Week: isoWeek(p.day(0)), Hours: len(hours), IsPredicted: !p.metrics}
	cost, needed, accepted := 0.0, 0.0, 0.0
	var busiest *week.Hour
	for i := range hours {
		h := &hours[i]
		paid := float64(h.PaidReplicas * gpusPerReplica)
		s.GPUHoursPaid += paid
		cost += *h.CostUSD
		if h.IsMissing {
			s.MissingHours++
			continue
		}
		s.GPUHoursCovered += paid
		s.Requests += *h.Requests
		s.InputTokens += *h.InputTokens
		s.OutputTokens += *h.OutputTokens
		if h.NeededReplicas != nil {
			needed += float64(*h.NeededReplicas * gpusPerReplica)
		}
		if busiest == nil || *h.PeakRatePerS > *busiest.PeakRatePerS {
			busiest = h
		}
	}
	share := 0.9974
	if len(p.slow) == 0 {
		share = 0.9986
	}
	accepted = math.Round(float64(s.OutputTokens) * share)
	s.CostUSD, s.AcceptedTokens, s.USDPerMillion = ptr(round(cost, 2)), &accepted, ptr(round(cost/accepted*1e6, 4))
	s.LowUSDPerMillion, s.HighUSDPerM = ptr(round(*s.USDPerMillion*0.987, 4)), ptr(round(*s.USDPerMillion*1.011, 4))
	s.WithinSLO, s.LowWithinSLO, s.HighWithinSLO = ptr(share), ptr(share-0.0003), ptr(share+0.0003)
	if p.metrics {
		s.TPOTRatio, s.LowTPOTRatio, s.HighTPOTRatio, s.BandRatio = ptr(1.04), ptr(1.02), ptr(1.05), ptr(0.08)
	}
	if busiest == nil {
		return s
	}
	s.BusiestHourStart, s.PeakRatePerS = &busiest.Start, busiest.PeakRatePerS
	if busiest.NeededReplicas == nil {
		return s
	}
	over := func(each *float64) *float64 {
		return ptr(round(float64(busiest.PaidReplicas)**each/(*busiest.PeakRatePerS)-1, 6))
	}
	s.HeadroomRatio, s.LowHeadroom, s.HighHeadroom = over(busiest.ReplicaRatePerS), over(busiest.LowReplicaRate), over(busiest.HighReplicaRate)
	s.GPUHoursNeeded = &needed
	return s
}

// gaps joins the missing hours.
func (p plan) gaps(hours []week.Hour) []week.Gap {
	var out []week.Gap
	for i, h := range hours {
		switch {
		case !h.IsMissing:
		case i > 0 && hours[i-1].IsMissing:
			out[len(out)-1].Hours++
			out[len(out)-1].Until = h.Start.Add(time.Hour)
		default:
			out = append(out, week.Gap{From: h.Start, Until: h.Start.Add(time.Hour), Hours: 1, Why: "no source covers it: chat-2026-47a ends and chat-2026-47b begins later"})
		}
	}
	return out
}

func fullest(hours []week.Hour) *week.Minute {
	var out *week.Minute
	for _, h := range hours {
		if h.PeakRatePerS == nil {
			continue
		}
		if n := int64(*h.PeakRatePerS * 60 * 1.06); out == nil || n > out.Requests {
			out = &week.Minute{Start: h.Start.Add(23 * time.Minute), Requests: n}
		}
	}
	return out
}
