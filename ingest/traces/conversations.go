package traces

import (
	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// Conversations refuses conversations as text: ShareGPT, WildChat, LMSYS-Chat-1M, and the
// computer-use agent of H (h_cua_perf), whose rounds have waits and lengths of answers.
// They do not say how many tokens a turn has, and most do not say when it came.
// Both would have to be invented here, so the file is refused with what is missing,
// and with what to do.
var Conversations = read.Format{
	Name:  "conversations",
	Sees:  seesConversations,
	Read:  refuseConversations,
	Wants: `conversations as text, which are refused: they have no token counts`,
}

// seesConversations tells the three collections apart, for the message.
func seesConversations(h *read.Head) string {
	switch {
	case h.ElementHas("conversations"), h.IsLines() && h.Has("conversations"):
		return "conversations as ShareGPT has them"
	case h.IsLines() && h.Has("conversation", "conversation_hash"), h.ElementHas("conversation", "conversation_hash"):
		return "conversations as WildChat has them"
	case h.IsLines() && h.Has("conversation", "conversation_id"), h.ElementHas("conversation", "conversation_id"):
		return "conversations as LMSYS-Chat-1M has them"
	case h.IsLines() && h.Has("session_id", "messages", "output_length"):
		return "rounds of an agent as H CUA has them"
	}
	return ""
}

// refuseConversations says which of the two things is missing.
func refuseConversations(d *read.Document, _ *read.Rows) error {
	h := read.NewHead(d.First.Data, d.Base())
	missing := "token counts and arrival times"
	if h.Has("session_id", "messages", "output_length") {
		missing = "token counts of its prompts, screenshots included, and without arrival times"
	}
	if h.Has("timestamp") || h.ElementHas("timestamp") {
		missing = "token counts"
	}
	return hint.Errorf("%s", seesConversations(h)+": text without "+missing).
		Hint("count its turns with the tokenizer of the served model, and take in a CSV of input_tokens,output_tokens,session_id,turn and arrival_s")
}
