package ingest

import "tidemark/internal/hint"

// Conversations as text: ShareGPT, WildChat, LMSYS-Chat-1M. They say neither how
// many tokens a turn has nor, most of them, when it came. Both would have to be
// made up here, so they are refused, and what is missing is said.
var _ = register(format{
	name:  "conversations",
	sees:  seesConversations,
	read:  refuseConversations,
	wants: `conversations as text, which are refused: they have no token counts`,
})

func seesConversations(h *head) string {
	switch {
	case h.elementHas("conversations"), h.isLines() && h.has("conversations"):
		return "conversations as ShareGPT has them"
	case h.isLines() && h.has("conversation", "conversation_hash"), h.elementHas("conversation", "conversation_hash"):
		return "conversations as WildChat has them"
	case h.isLines() && h.has("conversation", "conversation_id"), h.elementHas("conversation", "conversation_id"):
		return "conversations as LMSYS-Chat-1M has them"
	}
	return ""
}

func refuseConversations(d *document, _ *rows) error {
	h := newHead(d.first.data, d.base())
	missing := "token counts and arrival times"
	if h.has("timestamp") || h.elementHas("timestamp") {
		missing = "token counts"
	}
	return hint.Errorf("%s", seesConversations(h)+": text without "+missing).
		Hint("count its turns with the tokenizer of the served model, and take in a CSV of input_tokens,output_tokens,session_id,turn and arrival_s")
}
