package send

// What stage two of the verb tune found: measured beside expected, what is rejected and why, what to set.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/tune"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
)

// raced is stage two for a program.
type raced struct {
	Ended   string     `json:"ended"` // why no further server was started
	Starts  int        `json:"starts"`
	LoadS   float64    `json:"load_s"`
	Entered []racedRow `json:"raced"`
}

type racedRow struct {
	Settings        map[string]string `json:"settings"`
	Flags           []string          `json:"flags"`
	IsBaseline      bool              `json:"is_baseline"`
	RejectedWhy     string            `json:"rejected_why,omitempty"`
	RatePerS        *float64          `json:"rate_per_s"`      // null: not measured
	RateLowPerS     *float64          `json:"rate_low_per_s"`  // of a 90 % interval
	RateHighPerS    *float64          `json:"rate_high_per_s"` // null also where the largest multiple was within
	ExpectedPerS    float64           `json:"expected_per_s"`  // rehearsed
	ExpectedLow     float64           `json:"expected_low_per_s"`
	ExpectedHigh    *float64          `json:"expected_high_per_s"`
	OffRatio        *float64          `json:"off_ratio"` // measured over expected, less one
	USDPerMToken    *float64          `json:"usd_per_million_accepted"`
	ExpectedPerMTok *float64          `json:"expected_usd_per_million_accepted"`
	TokenPerJoule   *float64          `json:"token_per_joule"` // null: nobody measured the power
	IsOnFront       bool              `json:"is_on_front"`
	IsKnee          bool              `json:"is_knee"`
	Tries           []tune.Try        `json:"tries"`
}

// say prints what came of the race.
func (t *tuning) say(rows []tune.Row, ended string) error {
	finished := t.race.Finish()
	for i := range finished {
		var err error
		if f := &finished[i]; f.Rate > 0 {
			if f.PerJ, err = perJoule(&t.Call, t.searchID(f.Candidate), f.Low, &f.Rate); err != nil {
				return err
			}
		}
	}
	knee := slices.IndexFunc(finished, func(f tune.Finisher) bool { return f.IsKnee })
	said := t.verdict(finished, knee)
	if err := t.keep(t.file, rows, finished, t.race.Origin(), said); err != nil {
		return err
	}
	if t.JSON {
		out := forPrograms(t.file, rows)
		if knee >= 0 {
			out.Set = finished[knee].Flags()
		}
		out.Origin, out.raced = t.race.Origin(), &raced{Ended: ended, Starts: len(t.race.Tries), LoadS: t.race.Sent().Seconds(), Entered: racedRows(finished)}
		if err := t.printJSON(out); err != nil {
			return err
		}
		return t.exit()
	}
	if err := t.PrintForms(raceForms(finished)...); err != nil {
		return err
	}
	t.Gap()
	for _, f := range finished {
		if f.Rejected != "" {
			t.Remark("rejected: %s: %s", f.Label(), f.Rejected)
		}
	}
	for _, c := range tune.Rejected(rows) {
		t.Remark("rejected: %d %s", c.Count, c.Why)
	}
	if n := t.race.Left(); n > 0 {
		t.Remark("%s may be better and had no start: a larger budget has room for them.", show.Things(n, "candidate", "candidates"))
	}
	t.Remark("%s of load in %s: %s.", show.Duration(t.race.Sent().Seconds()), show.Things(len(t.race.Tries), "start", "starts"), ended)
	t.Remark("%s", said)
	return t.exit()
}

// verdict is what to set, and against what.
func (t *tuning) verdict(finished []tune.Finisher, knee int) string {
	switch t.race.Ending() {
	case tune.NoneServed:
		return "No start served."
	case tune.NoneKeeps:
		return noneKeeps
	}
	best, text := finished[knee], "keep the deployment as it is"
	if flags := strings.Join(best.Flags(), " "); !best.IsBaseline && flags != "" {
		text = "set: " + flags
	}
	text += fmt.Sprintf("; %s requests/s (%s, 90 %%), %s expected", show.Figures(best.Rate), intervalOf(best), show.Figures(best.ExpectedPerS))
	if base := finished[0]; base.IsBaseline && !best.IsBaseline && base.Rate > 0 {
		text += fmt.Sprintf(", %s as the deployment is", show.Figures(base.Rate))
		if base.High >= best.Low {
			text += ", but the intervals overlap"
		}
	}
	return text + "; " + t.race.Origin() + "."
}

// exit is the exit code of the race; a search that is not in the warehouse matters where there is something to set.
func (t *tuning) exit() error {
	switch t.race.Ending() {
	case tune.NoneServed:
		return kit.ExitError{Code: kit.ExitInvalid}
	case tune.NoneKeeps:
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return t.notKept
}

func racedRows(finished []tune.Finisher) (rows []racedRow) {
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	for _, f := range finished {
		row := racedRow{Settings: f.Settings(), Flags: f.Flags(), IsBaseline: f.IsBaseline, RejectedWhy: f.Rejected, ExpectedPerS: f.ExpectedPerS, ExpectedLow: f.ExpectedLowPerS,
			ExpectedHigh: finite(f.ExpectedHighPerS), OffRatio: f.OffRatio, USDPerMToken: f.USDPerMillion, ExpectedPerMTok: f.ExpectedUSD, TokenPerJoule: f.PerJ, IsOnFront: f.IsOnFront, IsKnee: f.IsKnee, Tries: f.Tried}
		if f.Rate > 0 {
			row.RatePerS, row.RateLowPerS, row.RateHighPerS = &f.Rate, &f.Low, finite(f.High)
		}
		rows = append(rows, row)
	}
	return rows
}

// raceForms are those that were started, the widest form first: those that were measured by their rate, then the others.
func raceForms(finished []tune.Finisher) []analysis.Table {
	finished = slices.Clone(finished)
	slices.SortStableFunc(finished, func(a, b tune.Finisher) int { return cmp.Compare(b.Rate, a.Rate) })
	full := kit.TableOf("settings", "requests/s", "90 %", "expected /s", "off", "$/M accepted", "expected $/M", "")
	short, narrow := kit.TableOf("settings", "/s", "90 %", "expected", "off", "$/M", ""), kit.TableOf("settings", "/s", "expected", "off", "")
	for _, f := range finished {
		rate, interval, off, usd, expectedUSD := "", "", "", "", ""
		if f.Rate > 0 {
			rate, interval = show.Figures(f.Rate), intervalOf(f)
		}
		if f.OffRatio != nil {
			off = fmt.Sprintf("%+.0f %%", 100**f.OffRatio)
		}
		if f.USDPerMillion != nil {
			usd = show.Figures(*f.USDPerMillion)
		}
		if f.ExpectedUSD != nil {
			expectedUSD = show.Figures(*f.ExpectedUSD)
		}
		label, expected, mark := f.Label(), tables.Figure(show.Figures(f.ExpectedPerS)), raceMark(f)
		full.Rows = append(full.Rows, []any{label, tables.Figure(rate), tables.Figure(interval), expected, tables.Figure(off), tables.Figure(usd), tables.Figure(expectedUSD), mark})
		short.Rows = append(short.Rows, []any{label, tables.Figure(rate), tables.Figure(interval), expected, tables.Figure(off), tables.Figure(usd), mark})
		narrow.Rows = append(narrow.Rows, []any{label, tables.Figure(rate), expected, tables.Figure(off), mark})
	}
	return []analysis.Table{full, short, narrow}
}

func raceMark(f tune.Finisher) string {
	mark := markOf(f.Row)
	if f.Rejected != "" {
		return strings.TrimPrefix(mark+", rejected", ", ")
	}
	return mark
}

func intervalOf(f tune.Finisher) string {
	if math.IsInf(f.High, 0) {
		return show.Figures(f.Low) + " or more"
	}
	return show.Figures(f.Low) + " to " + show.Figures(f.High)
}
