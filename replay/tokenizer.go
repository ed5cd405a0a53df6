// The served model's tokenizer, asked over HTTP where the server offers it (/tokenize, /detokenize). Prompts can be as long
// as planned in the model's own tokens without any tokenizer on this side.

package replay

import (
	"context"
	"encoding/json"
	"net/http"
)

// tokenizer is that of the served model.
type tokenizer struct {
	control *controlClient
	target  target
	served  string // name of the model
	field   string // of an answer of /detokenize that holds the text
	// isSilent are the paths that gave no answer: they are not asked again, for each time-out is long.
	isSilent map[string]bool
}

// tokenizer is that of one server; all servers of a run serve the same model.
func (a *controlClient) tokenizer(s Server, served string) tokenizer {
	return tokenizer{a, s.target, served, s.engine.DetokenizedField, map[string]bool{}}
}

// ask puts a question that a server need not be able to answer: nil where it does not, also where it just hangs up, as
// gateways do that let only some paths through. An error says that the run was stopped.
func (t tokenizer) ask(ctx context.Context, path string, question map[string]any) ([]byte, error) {
	if t.isSilent[path] {
		return nil, ctx.Err()
	}
	question["model"] = t.served
	status, body, err := t.control.post(ctx, t.target.at(path), question)
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

// Address is the server's, as it is shown.
func (t tokenizer) Address() string { return t.target.shown() }

// Tokens are those of a text.
func (t tokenizer) Tokens(ctx context.Context, text string) ([]int64, error) {
	return t.tokensOf(ctx, map[string]any{"prompt": text, "add_special_tokens": false})
}

// ChatTokens asks for the tokens of a chat of one user message.
func (t tokenizer) ChatTokens(ctx context.Context, content string) ([]int64, error) {
	return t.tokensOf(ctx, map[string]any{"messages": []map[string]string{{"role": "user", "content": content}}})
}

// Text is the text of token ids; empty when they have none or the server cannot say.
func (t tokenizer) Text(ctx context.Context, ids []int) (string, error) {
	body, err := t.ask(ctx, "/detokenize", map[string]any{"tokens": ids})
	var said map[string]any
	if err != nil || body == nil || json.Unmarshal(body, &said) != nil {
		return "", err
	}
	text, _ := said[t.field].(string)
	return text, nil
}
