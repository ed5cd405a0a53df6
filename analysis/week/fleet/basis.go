package fleet

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/internal/deployment"
	"tidemark/internal/show"
)

// Where a search got its capacity from, as marts.capacities has it.
const (
	Measured  = "measured"
	Simulated = "simulated"
	Predicted = "predicted" // rehearsed for this week, without a search
)

// Search is a search for capacity that a week can rest on. Rates are of one replica.
type Search struct {
	ID            string
	Origin        string // Measured or Simulated
	SourceName    string
	EndedAt       time.Time
	PerS, LowPerS float64
	HighPerS      *float64 // nil: nothing bounds it above, because the search ended at the largest multiple that it was allowed
	Binding       string
	Allowed       *float64 // share of requests that may miss it
	WindowPerS    float64  // mean rate of the window, of one replica
	IsWeak        bool
	Window        *Shape // nil: its source is no longer in the warehouse
	Curve         []Share
	Points        []Point

	sourceID, replicas int64
	sourceSHA256       string
	fromS, untilS      float64
	outcome            string
	asked              asked
}

// asked is the part of a search's first line that says what it asked.
type asked struct {
	Deployment deployment.Deployment `json:"deployment"`
	SLO        analysis.SLO          `json:"slo"`
}

// Share of requests that miss the binding objective at a rate of one replica.
type Share struct {
	PerS   float64 `json:"per_s"`
	Missed float64 `json:"missed"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Point is a run of the search.
type Point struct {
	Share
	IsValid bool
	Run     string
}

// Basis is what a week rests on. Rates are of one replica: a search's are of its own window, a prediction's of the busiest hour's shape.
type Basis struct {
	Kind                    string
	Search                  string
	Replicas                int // of the fleet that was rehearsed; 0: a search was
	SourceName              string
	EndedAt                 *time.Time
	AgeDays                 *float64 // at the week's end; below 0: it ended later
	PerS, LowPerS, HighPerS *float64
	IsImpossible            bool    // at the busiest hour's lengths no rate is small enough for the SLO
	Alone                   float64 // what the binding objective comes to without load, where that misses it already; 0: it does not
	Binding                 string
	ShapeDistance           *float64 // largest KS distance of prompt or answer lengths between the search's window and the week
	IsOtherShape            bool
	Correction              *float64 // of the busiest hour
	Band                    *float64 // of the model, one side; nil where nothing rests on it
	Curve                   []Share
	Points                  []Point
	Allowed                 *float64
	WindowPerS              *float64
	Sentence                string
}

// otherShape is the distance from which on a window is of another shape than the week, and monthDays the age at which a search is old.
const (
	otherShape = 0.1
	monthDays  = 31
)

// rests says what the answer rests on.
func (answer *Answer) rests(ctx context.Context, a *rehearser, groups []group, of []int, isCalibrated bool) (err error) {
	b := &answer.Basis
	busiest := answer.Busiest
	if busiest >= 0 && of[busiest] >= 0 {
		answer.Shape = groups[of[busiest]].shape
		if err := answer.compareFleets(a.Server.size()); err != nil {
			return err
		}
	}
	isImpossible := busiest >= 0 && answer.Hours[busiest].isImpossible
	if s := a.Search; s != nil {
		*b = Basis{Kind: s.Origin, Search: s.ID, SourceName: s.SourceName, EndedAt: &s.EndedAt, PerS: &s.PerS, LowPerS: &s.LowPerS, HighPerS: s.HighPerS,
			Binding: s.Binding, Curve: s.Curve, Points: s.Points, Allowed: s.Allowed, WindowPerS: &s.WindowPerS}
		age := a.WeekEnd.Sub(s.EndedAt).Hours() / 24
		b.AgeDays = &age
		if s.Origin != Measured {
			b.Band = &a.Server.Band
		}
		if s.Window != nil {
			distance := Distance(s.Window.Requests, ofWeek(a.Hours))
			b.ShapeDistance, b.IsOtherShape = &distance, distance > otherShape
		}
		if busiest >= 0 {
			b.Correction = answer.Hours[busiest].Correction
		}
		if b.IsImpossible = isImpossible; isImpossible {
			b.Binding, b.Alone = answer.Hours[busiest].Binding, answer.Hours[busiest].alone
		}
		b.Sentence = b.ofSearch(s, isCalibrated)
		return nil
	}
	b.Kind, b.Band = Predicted, &a.Server.Band
	if busiest < 0 || of[busiest] < 0 {
		b.Sentence = "No replica was measured, and no request of the week could be rehearsed."
		return nil
	}
	n := &answer.Hours[busiest]
	b.Replicas = answer.Replicas
	b.PerS, b.LowPerS, b.HighPerS, b.Binding, b.IsImpossible = n.PerS, n.LowPerS, n.HighPerS, n.Binding, isImpossible
	b.Alone = n.alone
	b.Sentence = b.ofRehearsal()
	if b.PerS == nil {
		return nil
	}
	for _, o := range a.Server.Objectives {
		if o.String() == n.Binding && o.Quantile > 0 {
			allowed := 1 - o.Quantile
			b.Allowed = &allowed
		}
	}
	b.Curve, err = a.curve(ctx, &answer.Shape, n.Capacity)
	return err
}

// curve is the share of misses over the rate of a shape that was rehearsed, from what is kept or played now. A slower server misses at less
// traffic what this one misses at more, so that its ends are read off the same curve.
func (a *rehearser) curve(ctx context.Context, shape *Shape, c Capacity) ([]Share, error) {
	binding := slices.IndexFunc(a.Server.Objectives, func(o capacity.Objective) bool { return o.String() == c.Binding })
	if binding < 0 {
		return nil, nil
	}
	server := a.Server
	server.Replicas = c.Replicas
	c, err := a.once(server.key(shape)+"/curve to 3, in order", func() (Capacity, error) {
		r, err := server.rehearsal(ctx, *shape, c.Replicas, server.played())
		if err != nil {
			return c, err
		}
		c.Curve, err = r.curve(binding, c)
		return c, err
	})
	return c.Curve, err
}

// curve of an objective's misses around a capacity.
func (r *played) curve(binding int, c Capacity) (curve []Share, err error) {
	one := float64(r.replicas)
	densestPerS := densest * r.mostPerS / one // that is rehearsed
	missed := func(perS float64) float64 {
		ln := math.Log(min(perS, densestPerS) * one / r.windowS)
		share, failed := r.limits.Missed(capacity.Shift{}, binding, ln)
		if failed != nil {
			err = fmt.Errorf("fleet: %w", failed)
		}
		return share
	}
	for _, part := range []float64{0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 3} {
		perS := part * c.PerS
		if perS > densestPerS && part > 1.3 {
			break
		}
		at := Share{PerS: perS, Missed: missed(perS), Low: missed(perS * math.Exp(-c.Fast)), High: missed(perS * math.Exp(-max(c.Slow, -3)))}
		at.Low, at.High = min(at.Low, at.Missed), max(at.High, at.Missed) // few misses are of other requests at another rate
		curve = append(curve, at)
	}
	return curve, err
}

// compareFleets says what a replica takes in fleets of other sizes.
func (answer *Answer) compareFleets(paid int) error {
	fleets := answer.Hours[answer.Busiest].fleets
	answer.Replicas = fleets.full.Replicas
	known := append(slices.Clone(sizes), paid, answer.Replicas)
	slices.Sort(known)
	for _, size := range slices.Compact(known) {
		if size <= fleets.largest() {
			answer.Fleets = append(answer.Fleets, Fleet{size, fleets.of(size)})
		}
	}
	return fleets.err
}

// ofSearch is the sentence of a capacity that a search found.
func (b *Basis) ofSearch(s *Search, isCalibrated bool) string {
	how := map[string]string{Measured: "Measured", Simulated: "Measured on a simulated server"}[s.Origin]
	text := fmt.Sprintf("%s on %s with %s: one replica handles %s requests/s (%s)", how, s.EndedAt.UTC().Format("2 January 2006"), s.SourceName,
		show.Figures(s.PerS), interval(s.LowPerS, s.HighPerS))
	switch {
	case s.Window == nil:
		text += ", used without a correction for this week's lengths, because that traffic is no longer in the warehouse"
	case !isCalibrated:
		text += ", used without a correction for this week's lengths, because the model takes as much of that traffic at no speed"
	case b.IsOtherShape:
		text += fmt.Sprintf(", and each hour is rehearsed with a server as fast as that one; this week's lengths are others (distance %s)", show.Figures(*b.ShapeDistance))
	default:
		text += ", and each hour is rehearsed with a server as fast as that one"
	}
	var besides []string
	if *b.AgeDays > monthDays {
		besides = append(besides, fmt.Sprintf("it is %.0f days old", *b.AgeDays))
	}
	if s.IsWeak {
		besides = append(besides, "it was found without a usable model of the server")
	}
	if s.Origin != Measured {
		besides = append(besides, "no real GPU was measured: this interval is of sampling alone, and every need and headroom also holds step times that are wrong by ±"+show.Percent(*b.Band))
	}
	if len(besides) > 0 {
		text += "; " + strings.Join(besides, ", and ")
	}
	return text + "."
}

// ofRehearsal is the sentence of a capacity that is predicted.
func (b *Basis) ofRehearsal() string {
	if b.PerS == nil {
		return "No replica was measured; by rehearsal no rate is small enough for the SLO at the busiest hour's lengths."
	}
	one := "one"
	if b.Replicas > 1 {
		one = fmt.Sprintf("one of %d that serve together", b.Replicas)
	}
	return fmt.Sprintf("No replica was measured: by rehearsal "+one+" handles %s requests/s (%s) of the busiest hour's lengths, if step times are within %s of the model's.",
		show.Figures(*b.PerS), interval(*b.LowPerS, b.HighPerS), show.Percent(*b.Band))
}

func interval(low float64, high *float64) string {
	if high == nil {
		return "at least " + show.Figures(low)
	}
	return show.Figures(low) + " to " + show.Figures(*high)
}
