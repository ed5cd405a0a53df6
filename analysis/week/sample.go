package week

import (
	"bytes"
	"context"
	"encoding/gob"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/analysis/week/fleet"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// The requests of an hour that are rehearsed: those of the five minutes that have its fullest minute, and of its other five minutes, the
// nearest first, until there are enough.
const (
	enoughOfHour = 2000
	mostOfHour   = 6000 // of more than that whole sessions are left out, chosen by a hash
)

// hourSample is the shape of the hour of that place in the week.
type hourSample struct {
	Place int
	Shape fleet.Shape
}

// sampled are the shapes of the hours of a week with single requests, packed to be kept beside its demand. A report needs them of two weeks, and
// reading them out of ten million requests takes longer than all the rest.
func (a adder) sampled(ctx context.Context, d demand) ([]byte, error) {
	all := []hourSample{}
	draw, hours := newDrawer(d), a.week.Hours()
	err := a.samples(ctx, func(place int, requests []plan.Request) {
		all = append(all, hourSample{place, fleet.Sample(draw.mixed(place, hours[place].Start, requests), fleet.Enough)})
	})
	if err != nil {
		return nil, err
	}
	return packed(all)
}

func packed(all []hourSample) ([]byte, error) {
	var out bytes.Buffer
	packer, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if err := gob.NewEncoder(packer).Encode(all); err != nil {
		return nil, err
	}
	err = packer.Close()
	return out.Bytes(), err
}

func unpacked(samples []byte) (all []hourSample, err error) {
	unpacker, err := zstd.NewReader(bytes.NewReader(samples), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpacker.Close()
	err = gob.NewDecoder(unpacker).Decode(&all)
	return all, err
}

// samples yields the sample of each hour of the adder's week, in order. Due counts from the hour's start.
func (a adder) samples(ctx context.Context, each func(place int, requests []plan.Request)) error {
	at, requests := -1, []plan.Request(nil)
	err := warehouse.Each(ctx, a.conn, a.with(`select hour, due_ns, input_tokens, output_tokens, class, session, turn, block_tokens, blocks
from macros.hour_samples('requests', %d, %d)
order by hour, due_ns, source_id, line`, enoughOfHour, mostOfHour), nil, func(scan func(...any) error) error {
		var hour int
		var due int64
		var r plan.Request
		var blocks any
		if err := scan(&hour, &due, &r.InputTokens, &r.OutputTokens, &r.Class, &r.Session, &r.Turn, &r.BlockTokens, &blocks); err != nil {
			return err
		}
		if hour != at && at >= 0 {
			each(at, requests)
			requests = nil
		}
		at = hour
		list, _ := blocks.([]any)
		for _, block := range list {
			r.Blocks = append(r.Blocks, block.(uint64))
		}
		r.Due, r.Seq = time.Duration(due), int64(len(requests))
		requests = append(requests, r)
		return nil
	})
	if err != nil {
		return err
	}
	if at >= 0 {
		each(at, requests)
	}
	return nil
}
