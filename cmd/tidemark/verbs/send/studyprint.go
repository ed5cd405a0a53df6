package send

// The result of a study in words: what each configuration takes within the SLO, its tails at one rate, the verdicts, the headline.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/study"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
)

func (s *studying) print(r study.Result) error {
	if err := s.PrintForms(studyRates(r)...); err != nil {
		return err
	}
	if r.At > 0 {
		s.Gap()
		if err := s.PrintForms(studyTails(r)); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Rows, func(row study.Row) bool { return row.TTFT == nil || row.TPOT == nil || row.ITL == nil }) {
			s.Gap()
			s.Remark("Blank: nothing was measured at that rate, or too few requests for a p99.")
		}
	}
	s.Gap()
	for _, v := range r.Verdicts {
		s.Remark("%s: %s: %s", v.Step, v.Outcome, v.Words)
		switch {
		case v.Next == study.Stop:
			s.Remark("The study stops here.")
		case v.Next != "":
			s.Remark("next: %s", v.Next)
		}
	}
	for _, row := range r.Rows {
		if row.Why != "" {
			s.Remark("%s: %s", row.Name, row.Why)
		}
	}
	if r.Band > 0 {
		s.Remark("Rehearsed: nothing was sent. The model's own error, %s, is common to what is rehearsed and not in the intervals.", show.Percent(r.Band))
	}
	s.Remark("%s", r.Headline)
	return nil
}

// studyRates are the largest rates within the SLO, the widest form first.
func studyRates(r study.Result) []analysis.Table {
	full := kit.TableOf("configuration", "requests/s", "90 %", "change", "per GPU", "of linear", "KV tokens", "$/M", "binds", "from")
	short := kit.TableOf("configuration", "/s", "90 %", "change", "KV", "$/M", "binds")
	narrow, least := kit.TableOf("configuration", "/s", "90 %", "change", "$/M"), kit.TableOf("configuration", "/s, 90 %", "change")
	for _, row := range r.Rows {
		rate, perGPU, usd := figure(row.Rate), figure(row.PerGPU), figure(row.USD)
		interval, change := row.Interval(), ""
		if row.IsShown != nil {
			change = study.NoDifference
		}
		if row.IsShown != nil && *row.IsShown && row.Change != nil {
			change = study.Signed(*row.Change)
			if row.Least != nil && row.Most != nil {
				change += fmt.Sprintf(" (%s to %s)", study.Signed(*row.Least), study.Signed(*row.Most))
			}
		}
		linear, kv := "", ""
		if row.Linear != nil {
			linear = show.Percent(*row.Linear)
		}
		if row.KVTokens != nil {
			kv = show.Count(*row.KVTokens)
		}
		binds := strings.ReplaceAll(row.Binding, "_", " ")
		full.Rows = append(full.Rows, []any{row.Name, rate, tables.Figure(interval), change, perGPU, tables.Figure(linear), tables.Figure(kv), usd, binds, row.Origin})
		short.Rows = append(short.Rows, []any{row.Name, rate, tables.Figure(interval), change, tables.Figure(kv), usd, binds})
		narrow.Rows = append(narrow.Rows, []any{row.Name, rate, tables.Figure(interval), strings.TrimSuffix(change, " shown"), usd})
		least.Rows = append(least.Rows, []any{row.Name, tables.Figure(interval), strings.TrimSuffix(change, " shown")})
	}
	forms := []analysis.Table{full, short, narrow, least}
	if !slices.ContainsFunc(r.Rows, func(row study.Row) bool { return row.PerJ != nil }) {
		return forms
	}
	return append([]analysis.Table{withEnergy(full, r.Rows), withEnergy(short, r.Rows), withEnergy(narrow, r.Rows), withEnergy(least, r.Rows)}, narrow, least)
}

// withEnergy is a table with output tokens per joule at its end.
func withEnergy(table analysis.Table, rows []study.Row) analysis.Table {
	columns := append(slices.Clone(table.Columns), "tokens/J")
	with := analysis.Table{Columns: columns}
	for i, cells := range table.Rows {
		with.Rows = append(with.Rows, append(slices.Clone(cells), cmp.Or(figure(rows[i].PerJ), "-")))
	}
	return with
}

// studyTails are the p99 at the study's rate, with what changed against the baseline.
func studyTails(r study.Result) analysis.Table {
	table := kit.TableOf(fmt.Sprintf("p99 at %s/s", show.Figures(r.At)), "TTFT", "", "TPOT", "", "ITL", "")
	for _, row := range r.Rows {
		cells := []any{row.Name}
		for _, p := range []struct{ at, change *float64 }{{row.TTFT, row.TTFTChange}, {row.TPOT, row.TPOTChange}, {row.ITL, row.ITLChange}} {
			value, change := "", ""
			if p.at != nil {
				value = show.Duration(*p.at)
			}
			if p.change != nil {
				change = study.Signed(*p.change)
			}
			cells = append(cells, tables.Figure(value), tables.Figure(change))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

func figure(v *float64) tables.Figure {
	if v == nil {
		return ""
	}
	return tables.Figure(show.Figures(*v))
}
