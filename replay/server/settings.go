package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"tidemark/replay/engines"
)

// Settings are what the server says that it runs with, by their names in run.json: /server_info first, then the labels of its metrics. What it
// does not say is left out.
func (c Command) Settings(ctx context.Context) map[string]string {
	answer := func(path string) []byte {
		status, body := c.get(ctx, path)
		if status != http.StatusOK {
			return nil
		}
		return body
	}
	var models struct {
		Data []struct {
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	_ = json.Unmarshal(answer("/v1/models"), &models) // without an owner other signs tell
	owner := ""
	if len(models.Data) > 0 {
		owner = models.Data[0].Owner
	}
	engine, _ := engines.Recognise("", owner, answer)
	var info json.RawMessage
	for _, path := range engine.SettingsPaths {
		if info = answer(path); info != nil {
			break
		}
	}
	said := engine.Configuration(info, answer("/metrics"))
	said.Quantization = cmp.Or(said.Quantization, said.Dtype) // weights that nothing quantizes are of the model's type
	if said.KVCacheDtype == "auto" {
		said.KVCacheDtype = said.Dtype
	}
	return said.Fields()
}

// Ignored names the settings that the server has otherwise than asked, in words. What it does not say is believed.
func Ignored(asked, said map[string]string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if value, isSaid := said[name]; isSaid && !engines.IsSame(name, asked[name], value) {
			words = append(words, fmt.Sprintf("%s is %s, and %s was asked", name, value, asked[name]))
		}
	}
	return words
}
