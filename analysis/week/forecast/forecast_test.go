package forecast

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// flat is n weeks of a service whose every hour of the week h has (10 + h/24) requests a second at its peak, times the factor of its week.
func flat(factors ...float64) []Week {
	monday := time.Date(2026, 9, 28, 0, 0, 0, 0, time.UTC)
	out := make([]Week, len(factors))
	for i, factor := range factors {
		out[i].Monday = monday.AddDate(0, 0, 7*i).Format(time.DateOnly)
		for hour := range HoursOfWeek {
			rate := (10 + float64(hour/24)) * factor
			out[i].Hours = append(out[i].Hours, Hour{hour, rate, rate * 3000})
		}
	}
	return out
}

func mustForecast(t *testing.T, weeks []Week, asked Asked) Forecast {
	t.Helper()
	got, err := Of(weeks, asked)
	if err != nil || got.Why != "" {
		t.Fatalf("no forecast: %v %s", err, got.Why)
	}
	return got
}

func near(got, want, share float64) bool { return math.Abs(math.Log(got/want)) <= share }

// Sunday has 16 requests a second: 168 hours of 10 to 16 sum up to 24*(10+11+12+13+14+15+16)*3000 = 6,552,000 requests.
func TestNothingChanges(t *testing.T) {
	got := mustForecast(t, flat(1, 1, 1, 1, 1, 1, 1, 1), Asked{})
	if len(got.Ahead) != 52 || got.Ahead[0].Week != "2026-W48" || got.Ahead[0].Monday != "2026-11-23" || got.Ahead[5].Week != "2026-W53" || got.Ahead[6].Week != "2027-W01" {
		t.Errorf("weeks ahead: %d, %v", len(got.Ahead), got.Ahead[:7])
	}
	for _, h := range []int{0, 7, 51} {
		if week := got.Ahead[h]; !near(week.Value, 16, 0.01) || week.Low > 16 || week.High < 16 {
			t.Errorf("%d weeks ahead: %v, want 16", h+1, week)
		}
	}
	if !near(got.Requests[0].Value, 6_552_000, 0.01) {
		t.Errorf("sum: %v requests", got.Requests[0])
	}
	if math.Abs(got.Growth) > 0.002 || got.LowGrowth > 0 || got.HighGrowth < 0 {
		t.Errorf("growth %v (%v to %v)", got.Growth, got.LowGrowth, got.HighGrowth)
	}
	if got.Month == nil || got.Month.MadeAfter != "2026-W43" || !near(got.Month.Forecast, 16, 0.01) || !near(got.Month.Came, 16, 1e-9) || got.Month.Came < got.Month.Low || got.Month.Came > got.Month.High {
		t.Errorf("last month's forecast: %+v", got.Month)
	}
}

func TestTooLittleHistory(t *testing.T) {
	threeWithGaps := flat(1, 1, 1)
	threeWithGaps[1].Hours = threeWithGaps[1].Hours[:80]
	for _, c := range []struct {
		name  string
		weeks []Week
		want  string
	}{
		{"nothing", nil, "There is no forecast: it needs 3 weeks of history, and there is none."},
		{"one week", flat(1), "There is no forecast: it needs 3 weeks of history, and there is 1."},
		{"two weeks", flat(1, 1), "There is no forecast: it needs 3 weeks of history, and there are 2."},
		{"one of three covers 80 hours", threeWithGaps, "and there are 2. A week with less than half"},
		{"weeks before the first request", flat(0, 0, 1, 1), "and there are 2."},
		{"switched off", flat(1, 1, 1, 0), "There is no forecast: 2026-W43 had no requests."},
	} {
		got, err := Of(c.weeks, Asked{})
		if err != nil || !strings.Contains(got.Why, c.want) || len(got.Ahead) > 0 {
			t.Errorf("%s: got %q and %d weeks ahead, %v; want %q", c.name, got.Why, len(got.Ahead), err, c.want)
		}
	}
}

func TestWrongWeeks(t *testing.T) {
	tuesday, twice, outside := flat(1), flat(1, 1), flat(1)
	tuesday[0].Monday = "2026-09-29"
	twice[1].Monday = twice[0].Monday
	outside[0].Hours[3].OfWeek = 168
	for _, weeks := range [][]Week{tuesday, twice, outside} {
		must.Refuse(Of(weeks, Asked{}))(t)
	}
}

// The busiest day of the last week and of one before is missing: the peak ahead is that of whole weeks.
func TestAGapIsNoFall(t *testing.T) {
	weeks := flat(1, 1, 1, 1, 1, 1)
	weeks[3].Hours = weeks[3].Hours[:150]
	weeks[5].Hours = weeks[5].Hours[:100]
	got := mustForecast(t, weeks, Asked{})
	if !near(got.Ahead[0].Value, 16, 0.01) || !near(got.Naive[0].Value, 16, 0.01) || !near(got.Requests[0].Value, 6_552_000, 0.01) {
		t.Errorf("after gaps: peak %v, naive %v, requests %v", got.Ahead[0], got.Naive[0], got.Requests[0])
	}
	if got.Growth < -0.003 {
		t.Errorf("growth %v", got.Growth)
	}
	missing := append(flat(1, 1, 1, 1, 1, 1)[:3], flat(1, 1, 1, 1, 1, 1)[4:]...) // a whole week
	if got := mustForecast(t, missing, Asked{}); !near(got.Ahead[0].Value, 16, 0.01) || got.Weeks != 5 || got.Ahead[0].Week != "2026-W46" {
		t.Errorf("without a week: %v of %d weeks", got.Ahead[0], got.Weeks)
	}
}

func TestAStepIsFollowed(t *testing.T) {
	got := mustForecast(t, flat(1, 1.02, 0.99, 1, 1.01, 1.5, 1.49, 1.52), Asked{})
	for _, h := range []int{0, 3, 7} {
		if !near(got.Ahead[h].Value, 24, 0.05) {
			t.Errorf("%d weeks after a step to 24: %v", h+1, got.Ahead[h])
		}
	}
	if got.HighGrowth > 0.03 {
		t.Errorf("a step became growth: %v (%v to %v)", got.Growth, got.LowGrowth, got.HighGrowth)
	}
}

func TestAHolidayIsNoTrend(t *testing.T) {
	for name, weeks := range map[string][]Week{
		"in the middle":        flat(1, 1.02, 0.99, 1, 0.6, 1.01, 1, 0.99),
		"two weeks":            flat(1, 1.02, 0.99, 0.6, 0.55, 1.01, 1, 0.99),
		"the week before":      flat(1, 1.02, 0.99, 1, 1.01, 1, 0.6, 1.01),
		"at the history's end": flat(1, 1.02, 0.99, 1, 1.01, 1, 0.99, 0.6),
	} {
		got := mustForecast(t, weeks, Asked{})
		if got.LowGrowth < -0.02 || got.HighGrowth > 0.02 {
			t.Errorf("%s: growth %v (%v to %v)", name, got.Growth, got.LowGrowth, got.HighGrowth)
		}
		// At the end of the history one low week may be a holiday or a fall: the band holds both.
		if b := got.Ahead[3]; b.Low > 16 || b.High < 16 || name != "at the history's end" && !near(b.Value, 16, 0.05) {
			t.Errorf("%s: four weeks ahead %v, want 16", name, b)
		}
	}
	got := mustForecast(t, flat(1, 1.02, 0.99, 1, 1.01, 1, 0.99, 0.6), Asked{})
	if b := got.Ahead[0]; b.Low > 0.6*16 {
		t.Errorf("a fall that stays is outside the band: %v", b)
	}
}

// Growth of 3 % a week: after eight weeks 16*1.03^7 = 19.7. What is paid for takes 22.
func TestGrowthNeedsReplicas(t *testing.T) {
	factors := make([]float64, 12)
	for i := range factors {
		factors[i] = math.Pow(1.03, float64(i))
	}
	got := mustForecast(t, flat(factors...), Asked{Paid: 5, Replicas: func(rate float64) int { return int(math.Ceil(rate / 5)) }})
	last := 16 * factors[11] // 22.1: five replicas take 25, four weeks of growth
	if !near(got.Growth+1, 1.03, 0.005) || !near(got.Ahead[0].Value, last*1.03, 0.02) {
		t.Errorf("growth %v, next week %v, want %v", got.Growth, got.Ahead[0], last*1.03)
	}
	if got.NextReplica != got.Ahead[4].Week && got.NextReplica != got.Ahead[3].Week {
		t.Errorf("next replica in %s, want four or five weeks ahead", got.NextReplica)
	}
	if got.EarliestReplica > got.NextReplica || got.EarliestReplica == "" || got.HoldsWeeks >= 4 || got.HoldsWeeks < 1 {
		t.Errorf("earliest %s, holds %d weeks", got.EarliestReplica, got.HoldsWeeks)
	}
	for i, need := range got.Needs {
		if need.Replicas != 6+i || need.Week != "" && need.Earliest > need.Week {
			t.Errorf("need %d: %+v", i, need)
		}
	}
	enough := mustForecast(t, flat(1, 1, 1, 1), Asked{Paid: 90, Replicas: func(rate float64) int { return int(math.Ceil(rate / 5)) }})
	if len(enough.Needs) > 0 || enough.NextReplica != "" || enough.HoldsWeeks != 52 {
		t.Errorf("90 replicas: %v, %d weeks", enough.Needs, enough.HoldsWeeks)
	}
}

// Sunday 2027-03-28 of Europe/Berlin has 23 hours and Sunday 2026-10-25 has 25.
func TestHoursOfWeeksAhead(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for monday, want := range map[string]int{"2026-10-12": 169, "2027-03-15": 167, "2026-11-16": 168} {
		day, _ := time.Parse(time.DateOnly, monday)
		hours := history{last: day}.hoursAhead(1, berlin)[0]
		if len(hours) != want || hours[0] != 0 || hours[len(hours)-1] != 167 {
			t.Errorf("the week after %s: %d hours, want %d", monday, len(hours), want)
		}
	}
}

func TestTheSameWeeksGiveTheSameForecast(t *testing.T) {
	weeks, _ := kinds()[4].make(3)
	one, two := mustForecast(t, weeks, Asked{}), mustForecast(t, weeks, Asked{})
	if !reflect.DeepEqual(one, two) {
		t.Error("two forecasts from the same weeks differ")
	}
}

func TestStudentT(t *testing.T) {
	for n, want := range map[float64]float64{5: 2.0150, 10: 1.8125, 30: 1.6973} {
		if got := studentT(n); math.Abs(got-want) > 0.003 {
			t.Errorf("t(0.95, %v) = %v, want %v", n, got, want)
		}
	}
}

func BenchmarkForecastOf26Weeks(b *testing.B) {
	weeks, _ := kinds()[14].make(1)
	if len(weeks) != 26 {
		b.Fatalf("%d weeks", len(weeks))
	}
	for range b.N {
		must.Get(Of(weeks, Asked{}))(b)
	}
}

// One request a day, in another hour each week, and no tokens at all: every number stays finite.
func TestAServiceOfAFewRequests(t *testing.T) {
	weeks := flat(0, 0, 0, 0, 0)
	for i := range weeks {
		for day := range 7 {
			weeks[i].Hours[24*day+(5*i+3*day)%24] = Hour{24*day + (5*i+3*day)%24, 1.0 / 300, 1}
		}
	}
	got := mustForecast(t, weeks, Asked{Paid: 1, Replicas: func(rate float64) int { return int(math.Ceil(rate)) }})
	for _, bands := range [][]Band{got.Ahead, got.Naive, got.Requests} {
		for _, b := range bands {
			if math.IsNaN(b.Low+b.Value+b.High) || math.IsInf(b.Low+b.Value+b.High, 0) || b.Low > b.Value || b.High < b.Value {
				t.Fatalf("%+v", b)
			}
		}
	}
	if !near(got.Ahead[0].Value, 1.0/300, 0.1) || !near(got.Requests[0].Value, 7, 0.1) {
		t.Errorf("next week: peak %v, requests %v", got.Ahead[0], got.Requests[0])
	}
}
