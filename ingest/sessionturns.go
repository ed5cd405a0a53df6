package ingest

import (
	"context"
	"fmt"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// turnsByBlocks counts the later turns of sessions by their first block: whether it is
// that of the turn before. Only prompts that fill a block count, because the id of a
// block that is not full changes when the next turn fills it.
const turnsByBlocks = `
with turns as (
    select
        session_id,
        blocks[1] as first_block,
        lag(blocks[1]) over session_turns as before_block,
        lag(line) over session_turns is not null as is_later
    from raw.arrivals
    where source_id = $1
        and session_id is not null
        and ($2 = 0 or input_tokens >= $2)
        and ($2 > 0 or len(blocks) > 1)
    window session_turns as (partition by session_id order by arrival_ns, line)
),

sessions as (
    select
        count(*) filter (first_block = before_block) as continued,
        count(*) filter (first_block <> before_block) as begun
    from turns
    where is_later
    group by session_id
)

select
    (select count(*) - count(distinct session_id) from raw.arrivals where source_id = $1 and session_id is not null),
    coalesce(sum(continued), 0)::bigint,
    coalesce(sum(begun), 0)::bigint,
    count(*) filter (continued > 0 and continued >= begun),
    count(*) filter (begun > continued)
from sessions`

// tellTurns says whether the turns of sessions in Mooncake's keys hold what came before
// them (cumulative) or only what is new (appended): the file does not say it, and the two
// are different workloads. The blocks tell: a session is cumulative if at least half of
// its turns go on with the turn before; the others are those whose context was cut. A
// file that has sessions of both kinds, more than a tenth of each, contradicts itself: no
// reading of it would be right.
func (l *fileLoad) tellTurns(ctx context.Context, tx *warehouse.Tx, source int64, blockTokens int) error {
	if l.format.Name != "mooncake" && l.format.Name != "aiperf-turns" {
		return nil
	}
	var later, continued, begun, cumulative, appended int64
	if err := tx.QueryRow(ctx, turnsByBlocks, source, blockTokens).Scan(&later, &continued, &begun, &cumulative, &appended); err != nil {
		return err
	}
	note, told := "", continued+begun
	switch {
	case later == 0:
		return nil
	case told == 0:
		note = fmt.Sprintf("%d turns follow another in their session, and no blocks tell whether input_length holds what came before; it is taken as the whole prompt", later)
	case 10*min(cumulative, appended) > cumulative+appended:
		return hint.Errorf("hash_ids: in %d sessions turns begin with the blocks of the turn before, in %d with others: input_length would be the whole prompt in some and only its new part in others", cumulative, appended).
			Hint("put cumulative and appended sessions into files of their own")
	case cumulative > appended:
		note = fmt.Sprintf("turns are cumulative: %d of %d begin with the blocks of the turn before", continued, told)
	default:
		note = fmt.Sprintf("turns are appended: %d of %d have other blocks than the turn before, so input_length is only the new part of a prompt, and a replay sends that alone", begun, told)
	}
	l.result.Notes = append(l.result.Notes, note)
	return nil
}
