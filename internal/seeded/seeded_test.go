package seeded

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var berlin = mustLoad(demoZone)

// october is a Monday, three weeks before the clocks of Berlin go back.
var october = time.Date(2026, time.October, 5, 0, 0, 0, 0, berlin)

func steady(rate float64) Service {
	return Service{Seed: 7, Zone: berlin, Begin: october, RatePerS: rate, Shape: Even(), Classes: []Class{{Input: Lengths{Median: 100}, Output: Lengths{Median: 10}}}}
}

func written(t *testing.T, s Service, from, until time.Time) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Write(&out, from, until); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// rows are the lines without the header, cut into fields.
func rows(t *testing.T, text string) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(text) {
		rows = append(rows, strings.Split(strings.TrimSpace(line), ","))
	}
	return rows[1:]
}

func instant(t *testing.T, field string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.000000-07:00", field)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTheRateIsTheProductOfWhatIsSaid(t *testing.T) {
	s := steady(2)
	s.Growth = 0.1
	s.Shape[HourOfWeek(october.Add(9*time.Hour))] = 3
	s.Steps = []Step{{At: october.AddDate(0, 0, 14), Factor: 2}}
	s.Holidays = []Holiday{{Day: "2026-10-14", Factor: 0.25}}
	for _, c := range []struct {
		name string
		at   time.Time
		want float64
	}{
		{"at the begin", october, 2},
		{"anywhere in the hour", october.Add(59 * time.Minute), 2},
		{"the shape at nine, nine hours of growth", october.Add(9 * time.Hour), 2 * 3 * math.Pow(1.1, 9.0/168)},
		{"a week before", october.AddDate(0, 0, -7), 2 / 1.1},
		{"a week later", october.AddDate(0, 0, 7), 2.2},
		{"the last hour before the step", october.AddDate(0, 0, 14).Add(-time.Hour), 2 * math.Pow(1.1, 335.0/168)},
		{"from the step on", october.AddDate(0, 0, 14), 2 * 1.21 * 2},
		{"a holiday from midnight", october.AddDate(0, 0, 9), 2 * math.Pow(1.1, 9.0/7) / 4},
		{"and not after it", october.AddDate(0, 0, 10), 2 * math.Pow(1.1, 10.0/7)},
		{"after the clocks went back nine is an hour later in UTC", time.Date(2026, time.October, 26, 8, 0, 0, 0, time.UTC), 2 * 3 * math.Pow(1.1, (21*24+10)/168.0) * 2},
	} {
		if got := s.RateAt(c.at); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%s: got %g, want %g", c.name, got, c.want)
		}
	}
}

func TestTheHourThatOccursTwice(t *testing.T) {
	s := steady(1)
	s.Shape[6*24+2] = 5 // Sunday 02:00
	monday := time.Date(2026, time.October, 19, 0, 0, 0, 0, berlin)
	hours := s.Hours(monday, monday.AddDate(0, 0, 7))
	var twice []string
	for _, h := range hours {
		if h.RatePerS == 5 {
			twice = append(twice, h.Start.Format(time.RFC3339))
		}
	}
	if want := []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"}; len(hours) != 169 || !slices.Equal(twice, want) {
		t.Errorf("%d hours, Sunday 02:00 at %v; want 169, %v", len(hours), twice, want)
	}
}

func TestNoiseHasMeanOne(t *testing.T) {
	s := steady(1)
	s.Noise = 0.2
	sum, squares, n := 0.0, 0.0, 0.0
	for _, h := range s.Hours(october, october.AddDate(1, 0, 0)) {
		sum, n = sum+h.RatePerS, n+1
		squares += math.Pow(math.Log(h.RatePerS), 2)
	}
	// Standard errors over 8,760 hours: 0.0021 of the mean, 0.0015 of the deviation.
	if mean := sum / n; math.Abs(mean-1) > 0.007 {
		t.Errorf("mean %.4f, want 1", mean)
	}
	if sd := math.Sqrt(squares/n - 0.02*0.02); math.Abs(sd-0.2) > 0.005 {
		t.Errorf("deviation of ln %.4f, want 0.2", sd)
	}
}

// The counts of the hours are Poisson about their truth: the squares of their distances, in standard deviations, are 1 on average.
func TestCountsAreAsTheTruthSays(t *testing.T) {
	s := Demo()
	from, until := october.AddDate(0, 0, 14), october.AddDate(0, 0, 21)
	counts := map[time.Time]float64{}
	for _, row := range rows(t, written(t, s, from, until)) {
		counts[instant(t, row[0]).UTC().Truncate(time.Hour)]++
	}
	sum, hours := 0.0, s.Hours(from, until)
	for _, h := range hours {
		want := h.RatePerS * 3600
		sum += math.Pow(counts[h.Start]-want, 2) / want
	}
	// Of 169 hours: standard error 0.11.
	if mean := sum / float64(len(hours)); len(hours) != 169 || math.Abs(mean-1) > 0.33 {
		t.Errorf("%d hours, mean square %.3f, want 169, about 1", len(hours), mean)
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	s := Demo()
	until := october.Add(30 * time.Hour)
	whole := written(t, s, october, until)
	if whole != written(t, s, october, until) {
		t.Error("another trace the second time")
	}
	cut := october.Add(7*time.Hour + 20*time.Minute) // within an hour
	_, second, _ := strings.Cut(written(t, s, cut, until), "\n")
	if written(t, s, october, cut)+second != whole {
		t.Error("two parts are not the whole")
	}
	s.Seed++
	if whole == written(t, s, october, until) {
		t.Error("another seed gives the same trace")
	}
}

// A change of these lines changes every figure that rests on them.
func TestTheFirstRowsStayAsTheyAre(t *testing.T) {
	got := strings.SplitAfterN(written(t, Demo(), DemoParts()[0].From, DemoParts()[0].From.Add(time.Hour)), "\n", 4)[:3]
	want := []string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\n",
		"2026-09-27 22:00:04.527089+00:00,11244,64\n",
		"2026-09-27 22:00:07.494598+00:00,9494,88\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAGapIsNotRecorded(t *testing.T) {
	s := steady(1)
	from, until := october.Add(10*time.Hour), october.Add(12*time.Hour+30*time.Minute)
	s.Gaps = []Gap{{from, until}}
	in, after := 0, 0
	for _, row := range rows(t, written(t, s, october, october.Add(24*time.Hour))) {
		switch at := instant(t, row[0]); {
		case !at.Before(from) && at.Before(until):
			in++
		case !at.Before(until):
			after++
		}
	}
	if in != 0 || after == 0 {
		t.Errorf("%d rows in the gap, %d after it", in, after)
	}
	var missing []int
	for i, h := range s.Hours(october, october.Add(24*time.Hour)) {
		if h.IsMissing {
			missing = append(missing, i)
		}
		if h.RatePerS != 1 {
			t.Errorf("hour %d: rate %g: what was not recorded did occur", i, h.RatePerS)
		}
	}
	if !slices.Equal(missing, []int{10, 11}) { // half of hour 12 is there
		t.Errorf("missing hours %v", missing)
	}
}

func TestClassesAndLengths(t *testing.T) {
	s := steady(5)
	s.Classes = []Class{
		{Name: "chat", Model: "llama-3.1-70b", Share: 3, Input: Lengths{Median: 1000, Sigma: 0.5, Most: 2000}, Output: Lengths{Median: 0.01}},
		{Name: "batch", Share: 1, Input: Lengths{Median: 8000, Sigma: 1}, Output: Lengths{Median: 1e9}},
	}
	text := written(t, s, october, october.Add(2*time.Hour))
	if !strings.HasPrefix(text, "arrival_at,input_tokens,output_tokens,class,model\n") {
		t.Errorf("header of %.80q", text)
	}
	inputs := map[string][]float64{}
	outputs := map[string]string{"chat,llama-3.1-70b": "1", "batch,": "1000000"}
	for _, row := range rows(t, text) {
		class := row[3] + "," + row[4]
		tokens, _ := strconv.ParseFloat(row[1], 64)
		inputs[class] = append(inputs[class], tokens)
		if row[2] != outputs[class] {
			t.Fatalf("class %q has an output of %s, want %s", class, row[2], outputs[class])
		}
	}
	chat, batch := inputs["chat,llama-3.1-70b"], inputs["batch,"]
	slices.Sort(chat)
	if share := float64(len(chat)) / float64(len(chat)+len(batch)); math.Abs(share-0.75) > 0.01 {
		t.Errorf("share of chat %.3f, want 0.75", share)
	}
	if median := chat[len(chat)/2]; math.Abs(median-1000) > 25 || chat[len(chat)-1] != 2000 {
		t.Errorf("median %g, most %g; want 1000 and 2000", median, chat[len(chat)-1])
	}
}

func TestAServiceThatMakesNoSenseIsRefused(t *testing.T) {
	noZone, noClass, comma := steady(1), steady(1), steady(1)
	noZone.Zone, noClass.Classes, comma.Classes[0].Name = nil, nil, "a,b"
	for name, s := range map[string]Service{"no zone": noZone, "no class": noClass, "a comma": comma} {
		if err := s.Write(&bytes.Buffer{}, october, october.Add(time.Hour)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := steady(1).Write(&bytes.Buffer{}, october, october); err == nil {
		t.Error("an empty stretch: no error")
	}
}

// The demo's figures, as its pages and the guide state them.
func TestTheDemosWeeks(t *testing.T) {
	s, parts := Demo(), DemoParts()
	year, week := parts[1].Until.Add(-time.Second).ISOWeek()
	if got := fmt.Sprintf("%d-W%02d", year, week); got != DemoWeek {
		t.Errorf("the last week is %s, want %s", got, DemoWeek)
	}
	requests, missing := 0.0, 0
	hours := s.Hours(parts[0].From, parts[1].Until)
	for _, h := range hours {
		if h.IsMissing {
			missing++
		} else {
			requests += h.RatePerS * 3600
		}
	}
	if len(hours) != 5*168+1 || missing != 3 || requests < 0.8e6 || requests > 1e6 {
		t.Errorf("%d hours, %d missing, %.0f requests; want 841, 3, nearly a million", len(hours), missing, requests)
	}
}

func BenchmarkWrite(b *testing.B) {
	s := steady(1e6 / 3600)
	s.Classes[0].Input.Sigma, s.Classes[0].Output.Sigma = 1, 0.5
	var out counter
	for b.Loop() {
		if err := s.Write(&out, october, october.Add(2*time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out)/b.Elapsed().Seconds(), "rows/s")
}

// counter counts lines.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}
