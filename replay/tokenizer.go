package replay

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// tokenizer is that of the served model.
type tokenizer struct {
	asker  *asker
	target target
	served string // name of the model
	// isSilent are the paths that gave no answer: they are not asked again, for each time-out is long.
	isSilent map[string]bool
}

func (a *asker) tokenizer(t target, served string) tokenizer {
	return tokenizer{a, t, served, map[string]bool{}}
}

// ask puts a question that a server need not be able to answer: nil where it does not, also where it just hangs up, as
// gateways do that let only some paths through. An error says that the run was stopped.
func (t tokenizer) ask(ctx context.Context, path string, question map[string]any) ([]byte, error) {
	if t.isSilent[path] {
		return nil, ctx.Err()
	}
	question["model"] = t.served
	status, body, err := t.asker.post(ctx, t.target.at(path), question)
	if err != nil || status == http.StatusNotFound {
		t.isSilent[path] = true
	}
	if err != nil || status != http.StatusOK {
		return nil, ctx.Err()
	}
	return body, nil
}

// tokensOf asks for the tokens of a text or of a chat; nil when the server cannot say.
func (t tokenizer) tokensOf(ctx context.Context, question map[string]any) ([]int64, error) {
	body, err := t.ask(ctx, "/tokenize", question)
	var said struct {
		Count  int     `json:"count"`
		Tokens []int64 `json:"tokens"`
	}
	if err != nil || body == nil || json.Unmarshal(body, &said) != nil || said.Count != len(said.Tokens) {
		return nil, err
	}
	return said.Tokens, nil
}

func (t tokenizer) text(ctx context.Context, text string) ([]int64, error) {
	return t.tokensOf(ctx, map[string]any{"prompt": text, "add_special_tokens": false})
}

// chat asks for the tokens of a chat of one user message.
func (t tokenizer) chat(ctx context.Context, content string) ([]int64, error) {
	return t.tokensOf(ctx, map[string]any{"messages": []map[string]string{{"role": "user", "content": content}}})
}

// spelt is the text of token ids; empty when they have none or the server cannot say.
func (t tokenizer) spelt(ctx context.Context, ids []int) (string, error) {
	body, err := t.ask(ctx, "/detokenize", map[string]any{"tokens": ids})
	var said struct {
		Prompt string `json:"prompt"`
	}
	if err != nil || body == nil || json.Unmarshal(body, &said) != nil {
		return "", err
	}
	return said.Prompt, nil
}

// single keeps the candidates that are one token behind a blank. They are asked for with a marker between them, a word
// known to be one token, so that the tokens of each can be told apart.
func (t tokenizer) single(ctx context.Context, candidates []string) (words []string, err error) {
	marker, id, err := t.marker(ctx, candidates)
	if err != nil || marker == "" {
		return nil, err
	}
	seen := map[int64]bool{id: true}
	for batch := range slices.Chunk(candidates, wordBatch) {
		var text strings.Builder
		for _, word := range batch {
			text.WriteString(" " + marker + " " + word)
		}
		tokens, err := t.text(ctx, text.String()+" "+marker)
		if err != nil {
			return nil, err
		}
		runs := between(tokens, id)
		if len(runs) != len(batch) { // the marker itself is among them as two runs of nothing; or this is no such tokenizer
			runs = withMarker(runs, batch, marker)
		}
		for i, run := range runs {
			if len(run) == 1 && !seen[run[0]] {
				seen[run[0]] = true
				words = append(words, batch[i])
			}
		}
	}
	return append(words, marker), nil
}

// marker is the first of the candidates that is one token wherever it stands.
func (t tokenizer) marker(ctx context.Context, candidates []string) (word string, id int64, err error) {
	for _, word := range candidates[:min(len(candidates), 8)] {
		tokens, err := t.text(ctx, strings.Repeat(" "+word, 4))
		if err != nil || tokens == nil {
			return "", 0, err
		}
		// The very first may have company: a begin of text, or a blank of its own.
		if n := len(tokens); n >= 4 && n <= 6 && tokens[n-1] == tokens[n-2] && tokens[n-2] == tokens[n-3] {
			return word, tokens[n-1], nil
		}
	}
	return "", 0, nil
}

// between cuts tokens at each marker; what is ahead of the first one is left out.
func between(tokens []int64, marker int64) (runs [][]int64) {
	begin := -1
	for i, token := range tokens {
		if token != marker {
			continue
		}
		if begin >= 0 {
			runs = append(runs, tokens[begin:i])
		}
		begin = i + 1
	}
	return runs
}

// withMarker puts one empty run in the place of the marker among the candidates, which cuts into two.
func withMarker(runs [][]int64, batch []string, marker string) [][]int64 {
	at := slices.Index(batch, marker)
	if at < 0 || len(runs) != len(batch)+1 {
		return nil
	}
	return slices.Delete(runs, at, at+1)
}
