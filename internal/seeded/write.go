package seeded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Write writes the requests that were recorded from one instant until another, in order of time, as CSV with instants of UTC.
// Where a class has a name or a model it is the format "plain", else the columns of Azure's traces, which are read several
// times as fast. A trace in two parts has the same rows as the whole.
func (s Service) Write(w io.Writer, from, until time.Time) error {
	if err := s.valid(from, until); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	t := trace{service: s, named: s.isNamed(), out: out, shares: s.shares()}
	out.WriteString(t.header())
	for hour := hourOf(from); hour.Before(until); hour = hour.Add(time.Hour) {
		if err := t.hour(hour, from, until); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (s Service) valid(from, until time.Time) error {
	switch {
	case !from.Before(until):
		return fmt.Errorf("seeded: %v is not before %v", from, until)
	case len(s.Classes) == 0:
		return errors.New("seeded: a service without classes has no lengths")
	case s.Zone == nil:
		return errors.New("seeded: a service without a zone has no hours of the week")
	}
	for _, c := range s.Classes {
		if strings.ContainsAny(c.Name+c.Model, ",\"\n\r") {
			return fmt.Errorf("seeded: class %q, model %q: a comma, quote or line end would need quoting", c.Name, c.Model)
		}
	}
	return nil
}

func (s Service) isNamed() bool {
	for _, c := range s.Classes {
		if c.Name != "" || c.Model != "" {
			return true
		}
	}
	return false
}

// shares are the classes' cumulative shares; the last is 1.
func (s Service) shares() []float64 {
	sum := 0.0
	shares := make([]float64, len(s.Classes))
	for i, c := range s.Classes {
		sum += c.Share
		shares[i] = sum
	}
	for i := range shares {
		shares[i] /= sum
	}
	shares[len(shares)-1] = 1 // also where no class has a share
	return shares
}

// trace is one trace being written.
type trace struct {
	service Service
	named   bool
	shares  []float64
	out     *bufio.Writer
	line    []byte
}

func (t *trace) header() string {
	if t.named {
		return "arrival_at,input_tokens,output_tokens,class,model\n"
	}
	return "TIMESTAMP,ContextTokens,GeneratedTokens\n"
}

// hour draws all requests of an hour and writes those within the bounds that were recorded.
func (t *trace) hour(hour, from, until time.Time) error {
	rate := t.service.RateAt(hour)
	if !(rate > 0) {
		return nil
	}
	rnd := t.service.drawing(hour, "requests")
	written := hour.AppendFormat(nil, "2006-01-02 15:")
	for at := rnd.ExpFloat64() / rate; at < 3600; at += rnd.ExpFloat64() / rate {
		offset := time.Duration(at*1e6) * time.Microsecond
		class := &t.service.Classes[0]
		if len(t.shares) > 1 {
			class = t.class(rnd.Float64())
		}
		input, output := class.Input.draw(rnd), class.Output.draw(rnd)
		if arrival := hour.Add(offset); arrival.Before(from) || !arrival.Before(until) || !t.service.isRecorded(arrival) {
			continue
		}
		t.line = appendClock(append(t.line[:0], written...), offset)
		t.line = strconv.AppendInt(append(t.line, "+00:00,"...), input, 10)
		t.line = strconv.AppendInt(append(t.line, ','), output, 10)
		if t.named {
			t.line = append(append(append(append(t.line, ','), class.Name...), ','), class.Model...)
		}
		if _, err := t.out.Write(append(t.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (t *trace) class(u float64) *Class {
	for i, share := range t.shares {
		if u < share {
			return &t.service.Classes[i]
		}
	}
	return &t.service.Classes[len(t.service.Classes)-1]
}

// appendClock writes minutes, seconds and microseconds: 07:30.000001. time.AppendFormat takes twice as long.
func appendClock(b []byte, offset time.Duration) []byte {
	digits := func(b []byte, n int64, width int) []byte {
		for place := int64(math.Pow10(width - 1)); place > 0; place /= 10 {
			b = append(b, byte('0'+n/place%10))
		}
		return b
	}
	micros := offset.Microseconds()
	b = append(digits(b, micros/60_000_000, 2), ':')
	b = append(digits(b, micros/1_000_000%60, 2), '.')
	return digits(b, micros%1_000_000, 6)
}

// draw is one length in tokens.
func (l Lengths) draw(rnd *rand.Rand) int64 {
	most := l.Most
	if most == 0 {
		most = 1_000_000
	}
	tokens := l.Median * math.Exp(l.Sigma*rnd.NormFloat64())
	return int64(min(max(math.Round(tokens), 1), float64(most)))
}
