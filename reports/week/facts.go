package week

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/week"
	"tidemark/internal/escape"
)

// facts is a report with what several sentences and sections ask of it.
type facts struct {
	*week.Report
	clock
	Covered   int        // hours with data
	Known     int        // of these, hours whose need is known
	Busiest   *week.Hour // nil: no hour has data
	Paid      int        // replicas in force at the week's end
	PaidFirst int        // and at its start
	ChangedAt time.Time  // the last change within the week; zero: none
	// Hours that need more than was paid for, than what is paid for now, and than that in the middle of the capacity. Here as everywhere a need is one
	// at the end of the capacity that decides, if nothing else is said.
	Short, ShortNow, ShortCentre []time.Time
	Most                         int      // replicas needed in the hour that needs most
	Margin, MarginLow            *float64 // headroom of what is paid for now, at the end that decides and at the low end
	MarginMiddle                 *float64
	Last                         *week.Sums
	Broken                       []time.Time // hours in which production broke the SLO
}

func newFacts(r *week.Report) *facts {
	if r.Verdict.Kind == "" { // kept by an earlier version
		judged := *r
		judged.Verdict = r.AsNeeded()
		r = &judged
	}
	f := &facts{Report: r, clock: newClock(r)}
	if len(r.Hours) > 0 {
		f.PaidFirst, f.Paid = r.Hours[0].PaidReplicas, r.Hours[len(r.Hours)-1].PaidReplicas
	}
	for i := range r.Hours {
		if i > 0 && r.Hours[i].PaidReplicas != r.Hours[i-1].PaidReplicas {
			f.ChangedAt = r.Hours[i].Start
		}
		f.addHour(&r.Hours[i])
	}
	f.fillMargin()
	if n := len(r.Before); n > 0 && isNextWeek(r.Before[n-1].Week, r.Week) {
		f.Last = &r.Before[n-1]
	}
	for _, felt := range r.Felt {
		if felt.IsBroken && !slices.ContainsFunc(f.Broken, felt.Start.Equal) {
			f.Broken = append(f.Broken, felt.Start)
		}
	}
	slices.SortFunc(f.Broken, time.Time.Compare)
	return f
}

func (f *facts) addHour(h *week.Hour) {
	if h.IsMissing {
		return
	}
	f.Covered++
	if at := f.Sums.BusiestHourStart; at != nil && h.Start.Equal(*at) {
		f.Busiest = h
	}
	need := f.DecisiveNeed(h)
	if need == nil {
		return
	}
	f.Known++
	f.Most = max(f.Most, *need)
	if *need > h.PaidReplicas {
		f.Short = append(f.Short, h.Start)
	}
	if *need > f.Paid {
		f.ShortNow = append(f.ShortNow, h.Start)
	}
	if h.NeededReplicas != nil && *h.NeededReplicas > f.Paid {
		f.ShortCentre = append(f.ShortCentre, h.Start)
	}
}

// fillMargin fills the week's headroom, or that of what is paid for now in the hour with the least, where replicas changed in mid-week.
func (f *facts) fillMargin() {
	f.MarginLow, f.MarginMiddle = f.Sums.LowHeadroom, f.Sums.HeadroomRatio
	f.Margin = f.Decisive(f.MarginMiddle, f.MarginLow)
	if f.ChangedAt.IsZero() {
		return
	}
	f.Margin, f.MarginLow, f.MarginMiddle = nil, nil, nil
	for i := range f.Hours {
		h := &f.Hours[i]
		if h.LowReplicaRate == nil || h.ReplicaRatePerS == nil || h.PeakRatePerS == nil || *h.PeakRatePerS <= 0 {
			continue
		}
		spare := func(perS float64) *float64 { v := f.Takes(f.Paid, perS)/(*h.PeakRatePerS) - 1; return &v }
		if low := spare(*h.LowReplicaRate); f.MarginLow == nil || *low < *f.MarginLow {
			f.MarginLow, f.MarginMiddle = low, spare(*h.ReplicaRatePerS)
			f.Margin = f.Decisive(f.MarginMiddle, f.MarginLow)
		}
	}
}

// change is that of a figure against last week, or nil.
func (f *facts) change(figure string) *week.Change {
	for i := range f.Changes {
		if f.Changes[i].Figure == figure {
			return &f.Changes[i]
		}
	}
	return nil
}

// feltAt is what users felt of a metric in an hour, or nil.
func (f *facts) feltAt(metric string, start time.Time) *week.Felt {
	for i := range f.Felt {
		if f.Felt[i].Metric == metric && f.Felt[i].Start.Equal(start) {
			return &f.Felt[i]
		}
	}
	return nil
}

// symptomOf is the gravest symptom that was there in one of the hours, or nil.
func (f *facts) symptomOf(hours []time.Time) *week.Symptom {
	for i := range f.Symptoms {
		s := &f.Symptoms[i]
		if isDuring(s, hours) {
			return s
		}
	}
	return nil
}

// isDuring says that a symptom was there in one of the hours.
func isDuring(s *week.Symptom, hours []time.Time) bool {
	return s.First != nil && s.Last != nil && slices.ContainsFunc(hours, func(at time.Time) bool { return !at.Before(*s.First) && !at.After(*s.Last) })
}

// isLargelyMissing says that the busiest hour may well be among the missing ones.
func (f *facts) isLargelyMissing() bool { return 10*f.Sums.MissingHours > len(f.Hours) }

// collect is the command that fetches what a section lacks, and search the one that finds the capacity. Reports of earlier versions name neither.
func (f *facts) collect() string {
	return cmp.Or(f.Commands.Collect, "tidemark collect --service "+escape.Shell(f.file()))
}

func (f *facts) search() string {
	return cmp.Or(f.Commands.Search, "tidemark capacity "+escape.Shell(f.trafficName())+" --base-url URL --model MODEL --slo FILE")
}

// byCollect is what is said before that command. A service file without a server has to name it first.
func (f *facts) byCollect(text string) *lacks {
	if f.File.Text != "" && !namesMetrics.MatchString(f.File.Text) {
		text = strings.Replace(text, "This command fetches", "Once the service file names its Prometheus (metrics: http://prometheus:9090), this command fetches", 1)
	}
	return &lacks{text, f.collect()}
}

var namesMetrics = regexp.MustCompile(`(?m)^metrics:`)

// file is the service file as a user would type it.
func (f *facts) file() string {
	if f.File.Path == "" {
		return f.Service + ".yaml"
	}
	return f.File.Path
}

// trafficName is a source of arrivals that could be replayed.
func (f *facts) trafficName() string {
	for _, s := range f.Sources {
		if s.Role == "traffic" && s.DuplicateOf == "" {
			return s.Name
		}
	}
	return "SOURCE"
}
