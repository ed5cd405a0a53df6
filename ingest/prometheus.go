package ingest

import (
	"bytes"
	"hash/maphash"
)

// Prometheus text and OpenMetrics, as a server's /metrics says them: vLLM, SGLang,
// TGI, DCGM and every other exporter. A file may hold several scrapes, one behind
// the other: a new one begins where a family or a series comes again.

var _ = register(format{
	name:  "prometheus",
	sees:  seesExposition,
	read:  readExposition,
	wants: "lines such as vllm:num_requests_running{engine=\"0\"} 3.0",
	kind:  "metrics",
})

var _ = register(format{
	name:  "prometheus-dump",
	sees:  seesDump,
	read:  readDump,
	wants: "lines such as {__name__=\"vllm:num_requests_running\"} 3 1700000000000, as promtool tsdb dump writes them",
	kind:  "metrics",
})

func seesExposition(h *head) string {
	if bytes.HasPrefix(h.line, []byte("# HELP ")) || bytes.HasPrefix(h.line, []byte("# TYPE ")) {
		return "Prometheus text: # HELP and # TYPE"
	}
	const enough = 3
	book := newLabelBook()
	samples, labelled := 0, false
	for line := range bytes.Lines(h.data[:min(len(h.data), 64<<10)]) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			labelled = labelled || bytes.HasPrefix(line, []byte("# TYPE "))
			continue
		}
		s, reason := book.sample(line)
		if reason != "" || bytes.HasPrefix(line, []byte("{__name__=")) {
			return ""
		}
		labelled = labelled || s.labels != ""
		if samples++; samples == enough {
			break
		}
	}
	if samples == 0 || !labelled {
		return ""
	}
	return "Prometheus text: series with labels"
}

func seesDump(h *head) string {
	if bytes.HasPrefix(h.line, []byte(`{__name__="`)) || bytes.HasPrefix(h.line, []byte("{__name__='")) {
		return "series, value and milliseconds, as promtool dumps them"
	}
	return ""
}

// exposition takes the lines of one scrape after the other.
type exposition struct {
	out     *rows
	book    *labelBook
	at      *instants
	stamp   *int64 // of the scrape, where its wrapping says it
	scrape  int32
	samples int // of this scrape
	seed    maphash.Seed
	seen    map[uint64]bool // families and series of this scrape
}

func newExposition(out *rows) *exposition {
	return &exposition{out: out, book: newLabelBook(), at: &instants{out: out}, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
}

// next begins a scrape.
func (e *exposition) next() {
	if e.samples > 0 {
		e.scrape++
		e.samples = 0
	}
	clear(e.seen)
}

// maxSeries of one scrape are remembered, to see where the next begins.
const maxSeries = 2_000_000

// again says whether this was seen in the scrape before, and remembers it.
func (e *exposition) again(parts ...string) bool {
	var hash maphash.Hash
	hash.SetSeed(e.seed)
	for _, part := range parts {
		_, _ = hash.WriteString(part)
		_ = hash.WriteByte(0)
	}
	sum := hash.Sum64()
	if e.seen[sum] {
		return true
	}
	if len(e.seen) < maxSeries {
		e.seen[sum] = true
	}
	return false
}

func (e *exposition) line(line []byte) (*reject, error) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil, nil
	case line[0] == '#':
		e.comment(line)
		return nil, nil
	}
	s, reason := e.book.sample(line)
	if reason != "" {
		return &reject{reason: reason}, nil
	}
	at := e.stamp
	if s.stamp != nil {
		ns, unit, reason := unixTime(s.stamp)
		if reason != "" {
			return &reject{column: "timestamp", reason: reason}, nil
		}
		at = e.at.since(ns, unit)
	} else if e.again(s.name, s.labels) {
		e.next()
		e.again(s.name, s.labels)
	}
	e.samples++
	return nil, e.out.add(metricRow{Scrape: e.scrape, AtNs: at, Name: s.name, Labels: s.labels, Value: s.value})
}

// comment sees where a scrape ends: at # EOF, or where a family is described for
// the second time.
func (e *exposition) comment(line []byte) {
	if bytes.Equal(line, []byte("# EOF")) {
		e.next()
		return
	}
	what, rest := word1(line[1:])
	name, _ := word1(rest)
	if kind := string(what); kind != "HELP" && kind != "TYPE" {
		return
	}
	if e.again("#", string(what), string(name)) {
		e.next()
		e.again("#", string(what), string(name))
	}
}

func readExposition(d *document, out *rows) error {
	e := newExposition(out)
	return d.lines(out, func(_ int64, line []byte) (*reject, error) { return e.line(line) })
}

// readDump reads series after series, each with all its samples: a sample's place
// in its series is its scrape.
func readDump(d *document, out *rows) error {
	book, at := newLabelBook(), &instants{out: out}
	var last exposedSample
	var scrape int32
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		s, reason := book.sample(bytes.TrimSpace(line))
		if reason != "" {
			return &reject{reason: reason}, nil
		}
		if s.stamp == nil {
			return &reject{column: "timestamp", reason: isMissing}, nil
		}
		ns, unit, reason := unixTime(s.stamp)
		if reason != "" {
			return &reject{column: "timestamp", reason: reason}, nil
		}
		if scrape++; s.name != last.name || s.labels != last.labels {
			scrape = 0
		}
		last = s
		return nil, out.add(metricRow{Scrape: scrape, AtNs: at.since(ns, unit), Name: s.name, Labels: s.labels, Value: s.value})
	})
}
