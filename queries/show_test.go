package queries_test

import (
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/show"
)

// What SQL says in its sentences is what Go says in its own.
func TestNumbersAreShownAlike(t *testing.T) {
	db := open(t).DB()
	for _, x := range []float64{0, 1e-9, 1.234e-5, 0.00012, 0.00099, 0.0009994, 0.00123, 0.0120, 0.0995, 0.099949, 0.1, 0.5, 0.9994, 0.99949, 0.9995, 0.9996, 1, 2.5,
		9.994, 9.996, 10, 99.94, 99.96, 123.456, 999.4, 999.6, 1000, 12345.6, 12350, 12450, 3.6e6, 1.5e9, -0.25, -2.5, -1234} {
		var figures, duration, percent string
		must.Do(t, db.QueryRow("select macros.figures($1::double), macros.duration_text($1::double), macros.percent_text($1::double)", x).Scan(&figures, &duration, &percent))
		if want := show.Figures(x); figures != want {
			t.Errorf("macros.figures(%v): got %s, want %s", x, figures, want)
		}
		if want := show.Duration(x); duration != want {
			t.Errorf("macros.duration_text(%v): got %s, want %s", x, duration, want)
		}
		if want := show.Percent(x); percent != want {
			t.Errorf("macros.percent_text(%v): got %s, want %s", x, percent, want)
		}
	}
}
