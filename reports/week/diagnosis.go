package week

import "fmt"

// diagnosis is the dot of 75_diagnosis.html.
type diagnosis struct {
	Table *table
	Lacks *lacks
	None  string
}

func diagnosisView(f *facts) (any, string, error) {
	switch {
	case len(f.Symptoms) == 0 && f.Looked == 0:
		return diagnosis{Lacks: f.byCollect("No symptom could be looked for, because there are no metrics of production. This command fetches them from Prometheus:")}, "No symptom could be looked for", nil
	case len(f.Symptoms) == 0:
		finding := fmt.Sprintf("None of the %s looked for fired", counted(f.Looked, "symptom"))
		return diagnosis{None: finding + "."}, finding, nil
	}
	finding := fmt.Sprintf("%s fired, of %s looked for", wordCounted(len(f.Symptoms), "symptom"), count(f.Looked))
	t := &table{Class: "stack", Title: finding, Heads: []head{words("Symptom"), words("First and last hour"), words("Found"), words("Confirmed by"), words("Try first"), words("GPUs")}}
	for _, s := range f.Symptoms {
		when := unknown
		if s.First != nil && s.Last != nil {
			if when = f.hour(*s.First); !s.First.Equal(*s.Last) {
				when = f.span(*s.First, *s.Last)
			}
		}
		if s.Hours > 0 {
			when += ", " + counted(s.Hours, "hour")
		}
		helps := "would not help"
		if s.IsForGPUs {
			helps = "would help"
		}
		r := cells(upper(said(s.Name)), when, dash(s.Found), dash(s.Confirmed), dash(s.Try), helps)
		r.Class, r.Cells[0].Mark = "broken", crossed("fired")
		t.Rows = append(t.Rows, r)
	}
	return diagnosis{Table: t}, finding, nil
}

// wordCounted: One symptom, Two symptoms.
func wordCounted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return numberWord(n) + " " + noun
}

func dash(text string) string {
	if text == "" {
		return unknown
	}
	return text
}
