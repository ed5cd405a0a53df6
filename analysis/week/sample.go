package week

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/analysis/week/fleet"
	"tidemark/replay/plan"
)

// The requests of an hour that are rehearsed: those of its busiest five minutes, and of its other five minutes, the nearest first, until
// there are enough.
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
	err := a.samples(ctx, func(place int, requests []plan.Request) error {
		if place < len(hours) {
			all = append(all, hourSample{place, fleet.Sample(draw.mixed(place, hours[place].Start, requests), fleet.Enough)})
		}
		return nil
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

// samples yields the sample of each hour of the week whose requests the adder holds, in order. Due counts from the hour's start.
func (a adder) samples(ctx context.Context, each func(place int, requests []plan.Request) error) error {
	if _, err := a.conn.ExecContext(ctx, fmt.Sprintf(`create or replace temp table week_sample as
with bins as (
	select since_ns // 3_600_000_000_000 as hour, since_ns // %[1]d_000_000_000 as bin, count(*) as requests
	from week_rows
	where is_measured
	group by all
),

distances as (
	select hour, bin, requests, abs(bin - first_value(bin) over (partition by hour order by requests desc, bin)) as distance
	from bins
),

nearest as (
	select hour, bin, coalesce(sum(requests) over (partition by hour order by distance, bin rows between unbounded preceding and 1 preceding), 0) as nearer,
		sum(requests) over (partition by hour order by distance, bin) as so_far
	from distances
),

chosen as (
	select hour, bin, least(1, %[3]d / max(so_far) over (partition by hour)) as share
	from nearest
	where nearer < %[2]d
)

select chosen.hour, rows.since_ns - chosen.hour * 3_600_000_000_000 as due_ns, rows.source_id, rows.line, rows.input_tokens, rows.output_tokens, rows.class
from week_rows as rows
inner join chosen on chosen.bin = rows.since_ns // %[1]d_000_000_000
where rows.is_measured and rows.session_key < chosen.share * 18446744073709551615::double`, binS, enoughOfHour, mostOfHour)); err != nil {
		return err
	}
	rows, err := a.conn.QueryContext(ctx, `select sample.hour, sample.due_ns, sample.input_tokens, sample.output_tokens, coalesce(sample.class, ''),
	coalesce(arrivals.session_id, ''), coalesce(arrivals.turn, 0), coalesce(sources.block_tokens, 0), arrivals.blocks
from week_sample as sample
inner join raw.arrivals as arrivals on arrivals.source_id = sample.source_id and arrivals.line = sample.line
inner join staging.sources as sources on sources.source_id = sample.source_id
order by sample.hour, sample.due_ns, sample.source_id, sample.line`)
	if err != nil {
		return err
	}
	defer rows.Close()
	at, requests := -1, []plan.Request(nil)
	for rows.Next() {
		var hour int
		var due int64
		var r plan.Request
		var blocks any
		if err := rows.Scan(&hour, &due, &r.InputTokens, &r.OutputTokens, &r.Class, &r.Session, &r.Turn, &r.BlockTokens, &blocks); err != nil {
			return err
		}
		if hour != at && at >= 0 {
			if err := each(at, requests); err != nil {
				return err
			}
			requests = nil
		}
		at = hour
		list, _ := blocks.([]any)
		for _, block := range list {
			r.Blocks = append(r.Blocks, block.(uint64))
		}
		r.Due, r.Seq = time.Duration(due), int64(len(requests))
		requests = append(requests, r)
	}
	if err := rows.Err(); err != nil || at < 0 {
		return err
	}
	return each(at, requests)
}
