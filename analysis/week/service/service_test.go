package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

const whole = `service: chat
time_zone: Europe/Berlin
traffic: [chat-*, {source: gateway-*, model: llama-3.1-70b, covers: day}, {source: night, covers: 2026-11-16/2026-11-23T01:00:00Z}]
metrics: http://prometheus:9090
metrics_selector: 'model_name="llama-3.1-70b"'
deployment: {gpu: H100, model: llama-3.1-70b, quantization: fp8, tensor_parallel_size: 2, max_num_seqs: 256}
replicas: [{from: 2026-01-01, replicas: 4}, {from: 2026-11-18, replicas: 6}]
slo: slo.yaml
price: {usd_per_gpu_hour: 2.90, source: "contract 2026-04"}
growth: {weeks: 12}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chat.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestAServiceFileIsRead(t *testing.T) {
	path := write(t, whole)
	f := must.Get(Read(path))(t)
	if f.Service != "chat" || f.Deployment.CatalogModel != "llama-3.1-70b" || f.Deployment.GPUs() != 2 || f.Deployment.MaxNumSeqs != 256 ||
		f.SLO != filepath.Join(filepath.Dir(path), "slo.yaml") || f.Price.USDPerGPUHour != 2.9 || f.GrowthWeeks != 12 || f.Capacity != "auto" {
		t.Errorf("read %+v", f)
	}
	if len(f.Traffic) != 3 || f.Traffic[1].Covers != ByDay || f.Traffic[1].Model != "llama-3.1-70b" ||
		f.Traffic[2].From.Format(time.RFC3339) != "2026-11-15T23:00:00Z" || f.Traffic[2].Until.Format(time.RFC3339) != "2026-11-23T01:00:00Z" {
		t.Errorf("traffic %+v", f.Traffic)
	}
	for at, want := range map[string]int{"2025-06-01T00:00:00Z": 4, "2026-11-17T22:59:59Z": 4, "2026-11-17T23:00:00Z": 6} {
		instant, _ := time.Parse(time.RFC3339, at)
		if got := f.ReplicasAt(instant); got != want {
			t.Errorf("%d replicas at %s, want %d", got, at, want)
		}
	}
}

func TestWhatIsWrongInAServiceFileIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"an unknown key", "growth:", "grow:", `line 10: unknown key "grow"; did you mean growth?`},
		{"an unknown zone", "Europe/Berlin", "Europe/Bern", `line 2: time_zone: no zone "Europe/Bern"`},
		{"the machine's own zone", "Europe/Berlin", "Local", `line 2: time_zone: no zone "Local"`},
		{"no SLO", "slo: slo.yaml\n", "", "slo: is missing"},
		{"no replica", "replicas: [{from: 2026-01-01, replicas: 4}, {from: 2026-11-18, replicas: 6}]", "replicas: 0", `line 7: replicas: "0"`},
		{"replicas out of order", "2026-11-18", "2025-11-18", "line 7: replicas[1].from: 2025-11-18 is not after"},
		{"a day that does not exist", "2026-11-18", "2026-11-31", `line 7: replicas[1].from: "2026-11-31" is no date`},
		{"a password in the address", "http://prometheus", "http://me:secret@prometheus", "line 4: metrics"},
		{"a token in the address", "http://prometheus:9090", "http://prometheus:9090/p?token=secret", "line 4: metrics: the address of prometheus:9090 has a query"},
		{"a token, and no scheme", "http://prometheus:9090", "prometheus/p?token=secret", `line 4: metrics: "prometheus/p" is not the address`},
		{"an unknown field of the deployment", "max_num_seqs", "max_seqs", `line 6: deployment: unknown key "max_seqs"`},
		{"a coverage that ends before it starts", "2026-11-16/2026-11-23T01:00:00Z", "2026-11-23/2026-11-16", "line 3: traffic[2].covers"},
		{"a name with a slash", "service: chat", "service: a/b", `line 1: service: "a/b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(write(t, strings.Replace(whole, c.from, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !hint.IsMisuse(err) || hint.Of(err) == "" {
				t.Errorf("got %v (hint %q), want %q", err, hint.Of(err), c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%v shows the password", err)
			}
		})
	}
	if _, err := Read("nowhere.yaml"); err == nil || hint.IsMisuse(err) {
		t.Errorf("a missing file: %v", err)
	}
}

// A date that begins at 01:00 began at 23:00 of the day before.
func TestADateBeginsAtItsFirstInstant(t *testing.T) {
	for _, c := range []struct{ date, zone, want string }{
		{"2026-09-06", "America/Santiago", "2026-09-06T04:00:00Z"}, // 24:00 is 01:00
		{"2026-09-07", "America/Santiago", "2026-09-07T03:00:00Z"},
		{"2026-04-05", "America/Santiago", "2026-04-05T04:00:00Z"}, // 24:00 is 23:00 again
		{"2026-03-08", "America/Havana", "2026-03-08T05:00:00Z"},   // 00:00 is 01:00
		{"2026-11-01", "America/Havana", "2026-11-01T04:00:00Z"},   // 01:00 is 00:00 again
		{"2026-03-29", "Atlantic/Azores", "2026-03-29T01:00:00Z"},  // 00:00 is 01:00
		{"2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z"},
		{"2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"}, // the day before is left out
		{"2026-11-18", "UTC", "2026-11-18T00:00:00Z"},
	} {
		zone := must.Get(time.LoadLocation(c.zone))(t)
		f := File{Zone: zone}
		if at, err := f.instant(c.date); err != nil || at.Format(time.RFC3339) != c.want {
			t.Errorf("%s in %s: got %s, %v; want %s", c.date, c.zone, at.Format(time.RFC3339), err, c.want)
		}
	}
	zone := must.Get(time.LoadLocation("America/Santiago"))(t)
	sunday := Week{2026, 36, zone}.Sunday()
	if got := sunday.Format(time.RFC3339); got != "2026-09-06T01:00:00-03:00" {
		t.Errorf("the Sunday of 2026-W36 begins at %s", got)
	}
}

func TestAWeekHasTheHoursOfItsClock(t *testing.T) {
	for _, c := range []struct {
		week, zone, start string
		hours             int
		at                int
		local             string
	}{
		{"2026-W47", "Europe/Berlin", "2026-11-15T23:00:00Z", 168, 38, "2026-11-17 14:00+01:00"},
		{"2026-W43", "Europe/Berlin", "2026-10-18T22:00:00Z", 169, 146, "2026-10-25 02:00+02:00"},
		{"2026-W43", "Europe/Berlin", "2026-10-18T22:00:00Z", 169, 147, "2026-10-25 02:00+01:00"},
		{"2026-W13", "Europe/Berlin", "2026-03-22T23:00:00Z", 167, 146, "2026-03-29 03:00+02:00"},
		{"2026-W53", "UTC", "2026-12-28T00:00:00Z", 168, 167, "2027-01-03 23:00+00:00"},
		{"2026-W14", "Australia/Lord_Howe", "2026-03-29T13:00:00Z", 169, 168, "2026-04-05 23:30+10:30"},
		{"2026-W40", "Australia/Lord_Howe", "2026-09-27T13:30:00Z", 168, 167, "2026-10-04 23:30+11:00"},
		{"2026-W36", "America/Santiago", "2026-08-31T04:00:00Z", 167, 144, "2026-09-06 01:00-03:00"},
		{"2027-W01", "Asia/Kolkata", "2027-01-03T18:30:00Z", 168, 0, "2027-01-04 00:00+05:30"},
	} {
		zone := must.Get(time.LoadLocation(c.zone))(t)
		week := must.Get(ParseWeek(c.week, zone))(t)
		hours := week.Hours()
		if got := week.Start().UTC().Format(time.RFC3339); got != c.start || len(hours) != c.hours || hours[c.at].Local != c.local {
			t.Errorf("%s in %s starts at %s with %d hours, hour %d is %s; want %s, %d, %s", c.week, c.zone, got, len(hours), c.at, hours[c.at].Local, c.start, c.hours, c.local)
		}
		length := time.Hour
		if c.zone == "Australia/Lord_Howe" { // its clock is set by half an hour
			length = 30 * time.Minute
		}
		if last := hours[len(hours)-1]; last.Length != length || !last.Start.Add(length).Equal(week.End()) {
			t.Errorf("%s in %s: its last hour is %s long, from %s", c.week, c.zone, last.Length, last.Start)
		}
		if week.Add(1).Add(-1) != week || !week.Add(1).Start().Equal(week.End()) {
			t.Errorf("%s plus one week is %s", week, week.Add(1))
		}
	}
	for _, text := range []string{"2026-47", "2026-W54", "2025-W53", "2026-W00", "2026-W7", "W47", ""} {
		if week, err := ParseWeek(text, time.UTC); err == nil {
			t.Errorf("%q is read as %s", text, week)
		}
	}
}
