package rehearsal

import (
	"slices"

	"tidemark/internal/engine"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// contents says what a request's tokens share with others, by the rules of plan.Prompts: equal blocks are equal tokens,
// answers stand where they were said, and nothing else is shared.
type contents struct {
	isCached   bool // the engine has a prefix cache
	isCold     bool
	isAnswered bool
}

// of is nil without a prefix cache. A request that shares nothing has a content too: after a preemption it finds its own blocks.
func (c contents) of(t *schedule.Ticket) *engine.Content {
	req := &t.Req
	if !c.isCached {
		return nil
	}
	content := &engine.Content{Own: splitmix.Mix(uint64(req.Seq) ^ 0x0511)}
	if c.isCold {
		return content
	}
	content.Blocks, content.BlockTokens = req.Blocks, req.BlockTokens
	content.BlocksEnd = min(len(req.Blocks)*req.BlockTokens, req.InputTokens)
	content.Findable = content.BlocksEnd
	if c.isAnswered && req.Session != "" {
		content.Findable = req.InputTokens + req.OutputTokens
		for _, answer := range t.Answers {
			content.Answers = append(content.Answers, engine.Span{Start: answer.At, End: answer.At + len(answer.IDs), ID: answerID(answer.IDs[0])})
		}
		content.Answers = append(content.Answers, engine.Span{Start: req.InputTokens, End: req.InputTokens + req.OutputTokens, ID: answerID(int32(req.Seq))})
	}
	return content
}

// answer is what a turn was answered: nobody reads the tokens, so that the number of the request stands for each.
func (c contents) answer(t *schedule.Ticket) []int32 {
	if !c.isAnswered || t.Req.Session == "" {
		return nil
	}
	ids := make([]int32, t.Req.OutputTokens)
	for i := range ids {
		ids[i] = int32(t.Req.Seq)
	}
	return ids
}

func answerID(id int32) uint64 { return splitmix.Mix(uint64(uint32(id)) ^ 0xa5e1) }

// shared is the requests without the blocks at the end of their prompts that no other of them has: nobody finds those, and to keep
// them takes most of a rehearsal of long prompts.
func shared(requests []plan.Request) []plan.Request {
	times := map[uint64]uint8{}
	for i := range requests {
		for _, id := range requests[i].Blocks {
			times[id] = min(times[id]+1, 2)
		}
	}
	if len(times) == 0 {
		return requests
	}
	requests = slices.Clone(requests)
	for i := range requests {
		r := &requests[i]
		n := len(r.Blocks)
		for n > 0 && times[r.Blocks[n-1]] == 1 {
			n--
		}
		r.Blocks = r.Blocks[:n]
	}
	return requests
}
