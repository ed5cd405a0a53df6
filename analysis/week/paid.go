package week

import (
	"fmt"
	"math"
)

// What is paid for, and what other ways to switch replicas on and off would have cost. GPU-hours and cost are of the whole week, its missing
// hours too; what is needed is known of covered hours alone, so the two are compared over those.

// usd is what GPU-hours cost; nil without a price.
func usd(gpuHours float64, price Price) *float64 {
	if price.USDPerGPUHour == nil {
		return nil
	}
	return new(rounded(gpuHours**price.USDPerGPUHour, 2))
}

// rounded leaves money without the noise of binary fractions: two places are cents, and what a million tokens cost has more.
func rounded(usd float64, places int) float64 {
	scale := math.Pow(10, float64(places))
	return math.Round(usd*scale) / scale
}

// perMillionPlaces are those of the cost of a million tokens.
const perMillionPlaces = 6

// PaySums fills what a week paid and needed, and what each hour cost, from the hours' PaidReplicas. The cost of a million accepted tokens is over covered hours, because the
// tokens of a missing hour are not known; it takes the Sums' AcceptedTokens, and for its ends their shares within the SLO.
func PaySums(s *Sums, hours []Hour, gpusPerReplica int, price Price) {
	s.GPUHoursPaid, s.GPUHoursCovered, s.GPUHoursNeeded = 0, 0, nil
	needed, isKnown := 0.0, false
	for i := range hours {
		h := &hours[i]
		paid := float64(h.PaidReplicas*gpusPerReplica) * h.length().Hours()
		h.CostUSD = usd(paid, price)
		s.GPUHoursPaid += paid
		if h.IsMissing {
			continue
		}
		s.GPUHoursCovered += paid
		if h.NeededReplicas != nil {
			needed += float64(*h.NeededReplicas*gpusPerReplica) * h.length().Hours()
			isKnown = true
		}
	}
	if isKnown {
		s.GPUHoursNeeded = &needed
	}
	s.CostUSD = usd(s.GPUHoursPaid, price)
	covered := usd(s.GPUHoursCovered, price)
	s.USDPerMillion, s.LowUSDPerMillion, s.HighUSDPerM = nil, nil, nil
	if covered == nil || s.AcceptedTokens == nil || *s.AcceptedTokens <= 0 {
		return
	}
	perMillion := rounded(*covered / *s.AcceptedTokens * 1e6, perMillionPlaces)
	s.USDPerMillion = &perMillion
	// More tokens accepted are each cheaper.
	s.LowUSDPerMillion, s.HighUSDPerM = times(perMillion, s.WithinSLO, s.HighWithinSLO), times(perMillion, s.WithinSLO, s.LowWithinSLO)
}

// times is value * above / below; nil where one of these is not known.
func times(value float64, above, below *float64) *float64 {
	if above == nil || below == nil || *below <= 0 {
		return nil
	}
	return new(rounded(value**above / *below, perMillionPlaces))
}

// Scalings are ways to run the week: as paid; every hour by its need at capacity’s low end; the same by replicas that start so many minutes before
// they are needed; and by GPUs needed at the middle of the capacity, which nobody can reach. Missing hours, and hours whose need is
// not known, stay as paid. At least one replica stays on, else the first request would wait for a start.
func Scalings(hours []Hour, gpusPerReplica, startUpMinutes int, price Price) []Scaling {
	if len(hours) == 0 {
		return nil
	}
	table, middle := make([]int, len(hours)), make([]int, len(hours))
	paid, unknown := 0.0, 0
	for i, h := range hours {
		paid += float64(h.PaidReplicas) * h.length().Hours()
		table[i], middle[i] = h.PaidReplicas, h.PaidReplicas
		if h.IsMissing || h.HighNeeded == nil || h.NeededReplicas == nil {
			unknown++
			continue
		}
		table[i], middle[i] = max(1, *h.HighNeeded), max(1, *h.NeededReplicas)
	}
	sum := func(replicas []int) (all float64) {
		for i, n := range replicas {
			all += float64(n) * hours[i].length().Hours()
		}
		return all
	}
	way := func(name string, replicaHours float64, note string) Scaling {
		s := Scaling{Name: name, GPUHours: replicaHours * float64(gpusPerReplica), Note: note}
		s.USD = usd(s.GPUHours, price)
		if paid > 0 {
			s.Saved = new(1 - replicaHours/paid)
		}
		return s
	}
	kept := ""
	if unknown > 0 {
		kept = fmt.Sprintf("%d of %d hours whose need is not known stay as paid", unknown, len(hours))
	}
	return []Scaling{
		way(ScaledAsPaid, paid, ""),
		way(ScaledByTable, sum(table), kept),
		way(ScaledAhead(startUpMinutes), ahead(table, hours, startUpMinutes), "each replica is started before the hour that needs it"),
		way(ScaledToNeed, sum(middle), "at the middle of the capacity's interval, with no time to start: a bound, not a plan"),
	}
}

// Names of the ways to run a week.
const (
	ScaledAsPaid  = "As paid"
	ScaledByTable = "Every hour by the table"
	ScaledToNeed  = "Needed, without start-up"

	scaledAheadName = "By the table, started "
)

// ScaledAhead is the name of the way with a start-up time.
func ScaledAhead(minutes int) string {
	return fmt.Sprintf("%s%d min ahead", scaledAheadName, minutes)
}

// ahead is the replica-hours of a table of whole hours in which a replica starts so many minutes before the hour that needs it: at each minute, as
// many as this hour needs, or any that begins within the start-up time.
func ahead(table []int, hours []Hour, minutes int) float64 {
	total := 0
	for i := range table {
		for minute := range int(hours[i].length().Minutes()) {
			running := table[i]
			for j := i + 1; j < len(table) && (j-i)*60 <= minute+minutes; j++ {
				running = max(running, table[j])
			}
			total += running
		}
	}
	return float64(total) / 60
}
