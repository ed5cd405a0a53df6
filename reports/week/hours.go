package week

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/week"
)

// hours is the dot of 50_hours.html.
type hours struct {
	Lacks   *lacks
	Grid    *grid
	Title   string
	Saves   string
	Scaling *table
	Notes   []string
	Query   string
}

// grid is the table of hours: hours of the clock down, days across.
type grid struct {
	Days []string
	Rows []gridRow
}

type gridRow struct {
	Hour  string
	Cells []gridCell
}

// gridCell without Text is an hour that the day does not have.
type gridCell struct {
	Text                 string
	Class                string // h0 to h6, the tint
	IsBusiest, IsMissing bool
	Words                string // for screen readers
}

func hoursView(f *facts) (any, string, error) {
	if f.Known == 0 {
		return hours{Lacks: &lacks{"How many replicas an hour needs is not known without the capacity of one. This command searches for it, against one replica:", f.search()}}, "Not known without a capacity", nil
	}
	v := hours{Grid: f.grid(), Title: f.scalingFinding(), Scaling: f.scaling(), Query: f.ofHours("needed_replicas", "low_needed_replicas", "high_needed_replicas", "paid_replicas")}
	for _, s := range f.Scaling {
		if s.Note != "" {
			v.Notes = append(v.Notes, upper(s.Name)+": "+s.Note+".")
		}
	}
	if s := f.byTable(); s != nil && s.Saved != nil && *s.Saved > 0 {
		v.Saves = fmt.Sprintf("It holds each covered hour at the low end of the capacity’s interval and saves %s GPU-hours", count(math.Round(f.Sums.GPUHoursPaid-s.GPUHours)))
		if s.USD != nil && f.Sums.CostUSD != nil {
			v.Saves += ", " + dollars(*f.Sums.CostUSD-*s.USD) + " a week"
		}
		v.Saves += "."
	}
	return v, v.Title, nil
}

// toRun are the replicas to run in each hour, as week.Scalings counts them: what it needs at capacity’s low end, and one at least. An hour whose
// need is not known stays as paid.
func (f *facts) toRun() []int {
	out := make([]int, len(f.Hours))
	for i := range f.Hours {
		if out[i] = f.Hours[i].PaidReplicas; f.Hours[i].HighNeeded != nil {
			out[i] = max(1, *f.Hours[i].HighNeeded)
		}
	}
	return out
}

// slot is an hour of the clock. In the week in which clocks go back one of them comes twice.
type slot struct {
	hour  int
	again bool
}

func (f *facts) grid() *grid {
	run := f.toRun()
	most := max(slices.Max(run), 1)
	at := map[slot]map[int]gridCell{}
	for i := range f.Hours {
		h := &f.Hours[i]
		s := slot{hour: h.HourOfDay}
		if _, isThere := at[s][h.Day]; isThere {
			s.again = true
		}
		if at[s] == nil {
			at[s] = map[int]gridCell{}
		}
		at[s][h.Day] = f.gridCell(h, run[i], most)
	}
	g := &grid{}
	days := map[int]bool{}
	for i := range f.Hours {
		if d := f.Hours[i].Day; !days[d] {
			days[d] = true
			g.Days = append(g.Days, localHour(&f.Hours[i]).Format("Mon"))
		}
	}
	for hour := range 24 {
		for _, again := range []bool{false, true} {
			byDay := at[slot{hour, again}]
			if byDay == nil {
				continue
			}
			r := gridRow{Hour: fmt.Sprintf("%02d:00", hour)}
			if again {
				r.Hour += " again"
			}
			for day := range 7 {
				if days[day] {
					r.Cells = append(r.Cells, byDay[day])
				}
			}
			g.Rows = append(g.Rows, r)
		}
	}
	return g
}

func (f *facts) gridCell(h *week.Hour, run, most int) gridCell {
	c := gridCell{Text: count(run), IsMissing: h.IsMissing, IsBusiest: f.Busiest != nil && h.Start.Equal(f.Busiest.Start)}
	switch {
	case h.IsMissing:
		c.Words = "missing, as paid: "
	case c.IsBusiest:
		c.Words = "busiest: "
	}
	c.Class = fmt.Sprintf("h%d", int(math.Ceil(6*float64(run)/float64(most))))
	return c
}

// byTable is the way to scale that the table of hours is, or nil.
func (f *facts) byTable() *week.Scaling {
	for i := range f.Scaling {
		if strings.Contains(strings.ToLower(f.Scaling[i].Name), "by the table") {
			return &f.Scaling[i] // the first of them is without a start-up
		}
	}
	return nil
}

func (f *facts) scalingFinding() string {
	if s := f.byTable(); s != nil {
		return fmt.Sprintf("Scaling by this table runs %s of %s GPU-hours", count(math.Round(s.GPUHours)), count(math.Round(f.Sums.GPUHoursPaid)))
	}
	most := slices.Max(f.toRun())
	return fmt.Sprintf("%s at most, %d at least", replicas(most), slices.Min(f.toRun()))
}

func (f *facts) scaling() *table {
	if len(f.Scaling) == 0 {
		return nil
	}
	t := &table{Class: "fit", Caption: numberWord(len(f.Scaling)) + " ways to run this week", Heads: []head{words("Way to run"), numbers("GPU-hours", "a week"), numbers("Cost", "USD"), numbers("Saved", "%")}}
	for i := range f.Scaling {
		s := &f.Scaling[i]
		r := cells(upper(s.Name), count(math.Round(s.GPUHours)), of(s.USD, amount), of(s.Saved, whole))
		if s == f.byTable() {
			r.Class = "now"
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
