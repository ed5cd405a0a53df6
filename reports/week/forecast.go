package week

import (
	"fmt"

	"tidemark/analysis/week"
	"tidemark/internal/show"
)

// forecastPart is the dot of 90_forecast.html.
type forecastPart struct {
	Figure *figure
	Lacks  *lacks
	Needs  *table
	Facts  []fact
}

func forecastView(f *facts) (any, string, error) {
	a := f.Forecast
	if a.Why != "" || len(a.Ahead) == 0 {
		lacking := f.byCollect("There is no forecast: " + dash(f.noForecast()) + ". This command fetches earlier weeks as far as Prometheus keeps them:")
		lacking.Command += " --since 56d"
		return forecastPart{Lacks: lacking}, "There is no forecast yet", nil
	}
	figure, err := drawn("forecast", f)
	if err != nil {
		return nil, "", err
	}
	figure.From, figure.Notes = "staging.service_weeks", a.Method+" · holidays are not modelled"
	banded := append([]field{{"week", "VARCHAR"}, {"monday", "VARCHAR"}}, doubles("peak_rate_per_s", "low", "high")...)
	figure.Tables, figure.Queries = []table{f.weeksAhead()}, []string{f.ofList("forecast.history", banded...), f.ofList("forecast.ahead", banded...)}
	v := forecastPart{Figure: figure, Needs: f.needs()}
	v.Facts = keepFacts(fact{"Growth", f.growth()}, fact{"Next week", f.nextWeek()}, fact{"Method", f.method()}, fact{"A month ago", f.monthAgo()})
	return v, figure.Title, nil
}

func (f *facts) weeksAhead() table {
	t := table{Class: "fit", Caption: "Busiest five minutes of each week, requests/s", Heads: []head{words("Week"), words("Monday"), numbers("Peak", ""), numbers("90"+narrow+"% band", "")}}
	add := func(weeks []week.ForecastWeek, word string) {
		for _, w := range weeks {
			r := cells(w.Week, mondayInWords(w.Week, f.Week), figures(w.Peak), between(w.Low, w.High, figures))
			if w.Low == nil {
				r.Cells[3].Text = word
			}
			t.Rows = append(t.Rows, r)
		}
	}
	add(f.Forecast.History, "measured")
	add(f.Forecast.Ahead[:min(len(f.Forecast.Ahead), 12)], "")
	return t
}

func (f *facts) needs() *table {
	if len(f.Forecast.Needs) == 0 {
		return nil
	}
	t := &table{Class: "fit", Caption: "When each further replica is needed", Heads: []head{words("Replica"), words("Needed in the week of"), words("At the earliest")}}
	day := func(isNow bool, isoWeek string) string {
		switch {
		case isNow:
			return "now"
		case isoWeek == "":
			return "not in sight"
		}
		return mondayInWords(isoWeek, f.Week)
	}
	for _, n := range f.Forecast.Needs {
		t.Rows = append(t.Rows, cells(show.Ordinal(n.Replicas), day(n.Replicas <= f.Most, n.Week), day(n.Replicas <= f.Most, n.Earliest)))
	}
	return t
}

func (f *facts) growth() string {
	a := f.Forecast
	if a.GrowthRatio == nil {
		return ""
	}
	return withInterval(signed(*a.GrowthRatio)+narrow+"% a week", a.LowGrowth, a.HighGrowth, signed) + " of the weekly peak, from " + counted(a.Weeks, "week")
}

func (f *facts) nextWeek() string {
	text := ""
	if w := f.Forecast.RequestsAhead; w != nil {
		text = withInterval(scaled(w.Peak), w.Low, w.High, scaled) + " requests"
	}
	if w := f.Forecast.PeakAhead; w != nil {
		if text != "" {
			text += ", "
		}
		text += "busiest five minutes " + withInterval(figures(w.Peak), w.Low, w.High, figures) + narrow + "requests/s"
	}
	return text
}

func (f *facts) method() string {
	a := f.Forecast
	if a.Error == nil || a.NaiveError == nil {
		return a.Method
	}
	text := fmt.Sprintf("%s; in the back-test one to four weeks ahead it was off by %s on average, last week repeated by %s", a.Method, percent(*a.Error), percent(*a.NaiveError))
	if *a.NaiveError < *a.Error {
		text += ", which is better by no more than chance"
	}
	return text
}

func (f *facts) monthAgo() string {
	m := f.Forecast.Month
	if m == nil {
		return ""
	}
	where := "within the band"
	if m.Came < m.Low {
		where = "below the band"
	} else if m.Came > m.High {
		where = "above the band"
	}
	return fmt.Sprintf("made after %s: %s (%s) requests/s; %s came, %s", m.MadeAfter, figures(m.Forecast), interval(figures(m.Low), figures(m.High)), figures(m.Came), where)
}
