package metrics

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
)

// NvidiaSMI reads what nvidia-smi samples: dmon (a header, then a line of units,
// both repeated every so often) and --query-gpu (units in the header and in every
// cell). Columns keep their names, with the unit in brackets.
//
// Times come in four forms: a date and a time in one column, in two columns (dmon
// -o DT), a Unix time of a sampler, or a time of day alone, which passes midnight
// unmarked.
var NvidiaSMI = read.Format{
	Name:  "nvidia-smi",
	Sees:  seesNvidiaSMI,
	Read:  readNvidiaSMI,
	Wants: "nvidia-smi dmon's columns (gpu, pwr, sm, ...) with their units, or --query-gpu's (memory.used [MiB], ...)",
}

// seesNvidiaSMI asks for gpu and another column of dmon, or for a property of
// --query-gpu.
func seesNvidiaSMI(h *read.Head) string {
	fields := smiHeader(h.Line)
	switch {
	case read.HasAll(fields, "gpu") && (read.HasAll(fields, "pwr") || read.HasAll(fields, "sm") || read.HasAll(fields, "pclk") || read.HasAll(fields, "fb") || read.HasAll(fields, "rxpci")):
		return "nvidia-smi dmon: " + read.ListNames(fields)
	case read.HasAll(fields, "gpu_idx", "util_pct"):
		return "a sampler of nvidia-smi: gpu_idx, util_pct"
	}
	for _, field := range fields {
		if queried.MatchString(field) {
			return "nvidia-smi --query-gpu: " + field
		}
	}
	return ""
}

// queried are properties that only nvidia-smi calls so.
var queried = regexp.MustCompile(`^(utilization\.(gpu|memory)|memory\.(used|free|total)|power\.draw(\.\w+)?|clocks(\.current)?\.(sm|gr|mem)|temperature\.gpu)( \[.*\])?$`)

// smiHeader are the columns of a header, with # or without, separated by commas or
// blanks.
func smiHeader(line []byte) []string {
	if len(line) > 16<<10 {
		return nil
	}
	fields, reason := wideFields(line)
	if reason != "" {
		return nil
	}
	for i, field := range fields {
		fields[i] = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(field), "#"))
	}
	if len(fields) > 1 && fields[0] == "" { // "# gpu" at blanks
		fields = fields[1:]
	}
	return fields
}

// smi is one file of either kind on its way.
type smi struct {
	*wideTable
	book      *read.Labels
	header    []string
	awaits    bool // the line of units
	days      int64
	last      int64 // second of the day
	day, time int   // columns of dates and times; -1 without
}

// readNvidiaSMI reads line by line, with headers in between.
func readNvidiaSMI(d *read.Document, out *read.Rows) error {
	s := &smi{wideTable: newWideTable(out, nil), book: read.NewLabels()}
	s.cell = smiCell
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		return nil, s.line(number, line)
	})
}

// smiCell also reads flags (1 and 0), bits (0x0000000000000004) and performance states: P8 is 8.
func smiCell(text, unit string) (float64, bool, string) {
	switch text {
	case "Active", "Enabled", "Yes":
		return 1, false, ""
	case "Not Active", "Disabled", "No":
		return 0, false, ""
	}
	if bits, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32); err == nil && strings.HasPrefix(text, "0x") {
		return float64(bits), false, ""
	}
	if len(text) > 1 && text[0] == 'P' && text[1] >= '0' && text[1] <= '9' {
		text = text[1:]
	}
	return plainCell(text, unit)
}

// line tells headers, lines of units and rows apart.
func (s *smi) line(number int64, line []byte) error {
	isHash := strings.HasPrefix(strings.TrimSpace(string(line[:min(len(line), 64)])), "#")
	switch {
	case s.header == nil || isHash && !s.awaits:
		s.head(smiHeader(line))
		return nil
	case s.awaits:
		s.awaits = false
		if s.units(smiHeader(line)) {
			return nil
		}
	}
	fields, reason := wideFields(line)
	if reason != "" {
		return s.out.Reject(number, "", reason)
	}
	at, column, reason := s.when(fields)
	if reason != "" {
		return s.out.Reject(number, column, reason)
	}
	labels, reason := s.gpu(fields)
	if reason != "" {
		return s.out.Reject(number, "", reason)
	}
	return s.row(number, at, labels, fields)
}

// smiLabels are columns that say which GPU a row is about, and the labels that DCGM
// has for the same.
var smiLabels = map[string]string{"gpu": "gpu", "gpu_idx": "gpu", "index": "gpu", "uuid": "UUID", "gpu_uuid": "UUID",
	"name": "modelName", "gpu_name": "modelName", "pci.bus_id": "pci_bus_id", "gpu_bus_id": "pci_bus_id"}

// smiWords are columns of words, which make no samples.
var smiWords = []string{"driver_version", "serial", "gpu_serial", "vbios_version", "compute_mode", "compute_cap", "persistence_mode", "count", "display_mode",
	"display_active", "accounting.mode", "ecc.mode.current", "ecc.mode.pending", "mig.mode.current", "mig.mode.pending", "clocks_event_reasons.supported",
	"clocks_throttle_reasons.supported"}

// head settles which column is what; it comes again every few lines.
func (s *smi) head(names []string) {
	s.header, s.columns = names, make([]wideColumn, len(names))
	s.day, s.time = -1, -1
	for i, name := range names {
		base, unit := unitOf(name)
		switch {
		case name == "Date" || name == "date":
			s.day = i
		case slices.Contains([]string{"timestamp", "ts", "time", "Time"}, base):
			s.time = i
		case smiLabels[base] != "" || slices.Contains(smiWords, base):
		default:
			s.columns[i] = wideColumn{name: name, unit: unit}
		}
	}
	s.awaits = read.HasAll(names, "gpu")
}

// unitOf takes "memory.used [MiB]" apart.
func unitOf(name string) (base, unit string) {
	base, unit, found := strings.Cut(name, " [")
	if !found {
		return name, ""
	}
	return base, strings.TrimSuffix(unit, "]")
}

// units puts dmon's line of units into the names of the columns.
func (s *smi) units(units []string) bool {
	if len(units) != len(s.header) || !slices.Contains(units, "Idx") {
		return false
	}
	for i, unit := range units {
		if s.columns[i].name == "" || unit == "-" || unit == "#" {
			continue
		}
		s.columns[i].name += " [" + unit + "]"
	}
	return true
}

// when is the instant of a row. A time of day that falls by more than half a day
// has passed midnight.
func (s *smi) when(fields []string) (at *int64, column, reason string) {
	if s.time < 0 || s.time >= len(fields) {
		return nil, "", ""
	}
	text := strings.TrimSpace(fields[s.time])
	column = s.header[s.time]
	seconds, isClock := secondsOfDay(text)
	switch {
	case isClock && s.day >= 0 && s.day < len(fields):
		day := strings.TrimSpace(fields[s.day]) // 20240510
		if len(day) != 8 {
			return nil, "date", read.NotATime
		}
		at, reason = s.instant(day[:4] + "-" + day[4:6] + "-" + day[6:] + " " + text)
	case isClock:
		if seconds < s.last-43_200 { // past midnight
			s.days++
		}
		s.last = seconds
		s.out.About.TimeUnit = "s"
		at = new((s.days*86_400 + seconds) * 1e9)
	default:
		at, reason = s.instant(text)
	}
	return at, column, reason
}

// gpu is the labels of the GPU that a row is about.
func (s *smi) gpu(fields []string) (labels, reason string) {
	var pairs []read.Label
	for i, name := range s.header {
		if base, _ := unitOf(name); i < len(fields) && smiLabels[base] != "" {
			pairs = append(pairs, read.Label{Key: smiLabels[base], Value: strings.TrimSpace(fields[i])})
		}
	}
	return s.book.Write(pairs)
}
