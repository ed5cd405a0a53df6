package tune

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/analysis/capacity"
	"tidemark/replay/plan"
)

// price fills in the rate of a full answer, and what a million accepted output tokens cost at it. Accepted are requests that miss no
// objective; where several bind at once the same requests may miss them, so that the cost is at most this.
func price(groups map[string][]variant) {
	for _, group := range groups {
		for _, v := range group {
			r := v.row
			if r.Full == nil {
				continue
			}
			switch {
			case r.Full.Outcome == capacity.Found && r.Full.RatePerS != nil:
				r.RatePerS = *r.Full.RatePerS
			case r.Full.Outcome == capacity.AboveMax && r.Full.RateLowPerS != nil:
				r.RatePerS = *r.Full.RateLowPerS
			}
			r.USDPerMillion = AcceptedCost(*r.Full, TokensPerRequest(v.q.Window), r.RatePerS, r.USDPerHour)
		}
	}
}

// TokensPerRequest is the mean answer.
func TokensPerRequest(window []plan.Request) float64 {
	tokens := 0
	for _, request := range window {
		tokens += request.OutputTokens
	}
	return float64(tokens) / float64(len(window))
}

// AcceptedCost is what a million accepted output tokens cost at a rate, USD; nil: that is not known.
func AcceptedCost(a capacity.Answer, tokensPerRequest, ratePerS, usdPerHour float64) *float64 {
	missed := 0.0
	for _, share := range a.Shares {
		if share.OfLimit == 1 {
			for _, one := range share.Missed {
				missed += one
			}
		}
	}
	perS := ratePerS * tokensPerRequest * max(0, 1-missed)
	if usdPerHour <= 0 || perS <= 0 {
		return nil
	}
	usd := usdPerHour / (perS * 3600 / 1e6)
	return &usd
}

// goals are what a row reaches, the larger the better; false: it reaches nothing.
func (f File) goals(r *Row) (goals []float64, is bool) {
	if r.RatePerS <= 0 {
		return nil, false
	}
	for _, o := range f.Objectives {
		switch {
		case o == MostRate:
			goals = append(goals, r.RatePerS)
		case r.USDPerMillion != nil:
			goals = append(goals, -*r.USDPerMillion)
		}
	}
	return goals, len(goals) > 0
}

// markFront marks what nothing beats in every objective, and the knee: of the front the one that is best in its worst objective, each as
// a share of the way from the front's worst to its best.
func (f File) markFront(rows []Row) {
	var front []int
	goals := map[int][]float64{}
	for i := range rows {
		if g, is := f.goals(&rows[i]); is {
			goals[i] = g
		}
	}
	for i, g := range goals {
		isBeaten := false
		for _, other := range goals {
			isBeaten = isBeaten || beats(other, g)
		}
		if rows[i].IsOnFront = !isBeaten; !isBeaten {
			front = append(front, i)
		}
	}
	slices.Sort(front)
	knee, best := -1, -1.0
	for _, i := range front {
		worst := 1.0
		for k := range goals[i] {
			low, high := goals[i][k], goals[i][k]
			for _, j := range front {
				low, high = min(low, goals[j][k]), max(high, goals[j][k])
			}
			if high > low {
				worst = min(worst, (goals[i][k]-low)/(high-low))
			}
		}
		if worst > best {
			knee, best = i, worst
		}
	}
	if knee >= 0 {
		rows[knee].IsKnee = true
	}
}

// beats says that a is at least as good in everything, and better in one.
func beats(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	isBetter := false
	for k := range a {
		if a[k] < b[k] {
			return false
		}
		isBetter = isBetter || a[k] > b[k]
	}
	return isBetter
}

// Count is how many candidates are rejected for one reason.
type Count struct {
	Why   string
	Count int
}

// Rejected are the reasons, the most frequent first.
func Rejected(rows []Row) (counts []Count) {
	n := map[string]int{}
	for _, r := range rows {
		if r.Why != "" && r.Why != isBase {
			n[r.Why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(n)) {
		counts = append(counts, Count{why, n[why]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return b.Count - a.Count })
	return counts
}

// Beyond counts the candidates that are not near the best.
func Beyond(rows []Row) (n int) {
	for _, r := range rows {
		if r.Why == "" && r.Full == nil {
			n++
		}
	}
	return n
}

// ListedRow is a row of the table, with how many more the engine cannot tell from it.
type ListedRow struct {
	Row
	Alike int
}

// Listed are the rows to print, the largest rate first: one of each class, the baseline or the one of the front before others. With isAll
// every candidate is listed, those that are rejected last.
func Listed(rows []Row, isAll bool) (listed []ListedRow) {
	if isAll {
		for _, r := range rows {
			listed = append(listed, ListedRow{Row: r})
		}
	} else {
		place := map[int]int{}
		for _, r := range rows {
			if r.Why != "" || r.Full == nil {
				continue
			}
			at, isThere := place[r.Class]
			if !isThere {
				place[r.Class] = len(listed)
				listed = append(listed, ListedRow{Row: r})
				continue
			}
			listed[at].Alike++
			if r.IsKnee && !listed[at].IsBaseline {
				listed[at].Row = r
			}
		}
	}
	slices.SortStableFunc(listed, func(a, b ListedRow) int {
		return cmp.Or(cmp.Compare(rank(b.Row), rank(a.Row)), cmp.Compare(b.RatePerS, a.RatePerS), cmp.Compare(b.Short, a.Short))
	})
	return listed
}

// rank puts those with a full rehearsal first, and rejected ones last.
func rank(r Row) int {
	switch {
	case r.Why != "":
		return 0
	case r.Full == nil:
		return 1
	}
	return 2
}
