// The named deployment compared with what the servers say of themselves, setting by setting.

package replay

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/internal/deployment"
	"tidemark/replay/engines"
)

// Before anything is sent, the deployment that was named is compared with what the servers say of themselves. Nothing is
// refused: the user may know better than the server. But a figure that is far from its prediction then
// has its reason next to it from the start.

// difference is a setting whose value at a server is not the one that was named.
type difference struct {
	BaseURL string `json:"base_url"`
	Setting string `json:"setting"`
	Asked   string `json:"asked"`
	Said    string `json:"said"`
}

// String is told to whoever waits for the run, before anything is sent.
func (d difference) String() string {
	return fmt.Sprintf("not what was named: %s is %s at %s, and %s was named", d.Setting, d.Said, d.BaseURL, d.Asked)
}

// compareAll compares what each server's model was said to run on with the server; all are their configurations in the same order.
func (s Settings) compareAll(servers []Server, all []engines.Configuration) (found []difference) {
	for i, server := range servers {
		asked, named := s.Environment, s.Named
		if model := s.otherAt(server.target); model != "" {
			asked, named = s.Environments[model], Environment{}
			if asked != nil {
				named = *asked
			}
		}
		if asked == nil {
			continue
		}
		for _, d := range s.compare(server, all[i], *asked, named) {
			d.BaseURL = server.target.shown()
			found = append(found, d)
		}
	}
	return found
}

// onlyWhereNamed are fields that are compared only where the user named them: otherwise they are our own defaults.
var onlyWhereNamed = []string{"engine", "engine_version", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "api_server_count"}

// compare finds the fields in which one server is not the named deployment. A field that the server does not say is not
// compared, and neither is --max-model-len: it also chooses the requests, so that a server may well take longer ones.
func (s Settings) compare(server Server, e engines.Configuration, asked, named Environment) (found []difference) {
	said := s.said(server, e)
	engines.SetDefault(&asked.DataParallelSize, 1)
	engines.SetDefault(&asked.ExpertParallelSize, 1)
	for _, f := range deployment.Fields {
		of := asked
		if slices.Contains(onlyWhereNamed, f.Name) {
			of = named
		}
		a, b := f.Get(of), f.Get(said)
		if a == nil || b == nil || f.Name == "max_model_len" || engines.IsSame(f.Name, fmt.Sprint(a), fmt.Sprint(b)) {
			continue
		}
		found = append(found, difference{Setting: f.Name, Asked: fmt.Sprint(a), Said: fmt.Sprint(b)})
	}
	return found
}

// said is the deployment that a server claims to be: what it simulates, and what its configuration says.
func (s Settings) said(server Server, e engines.Configuration) (d deployment.Deployment) {
	if server.Simulates != nil {
		d = *server.Simulates
	}
	engines.SetDefault(&d.CatalogModel, s.catalogName(e.Model))
	engines.SetDefault(&d.TensorParallelSize, int(e.TensorParallelSize))
	engines.SetDefault(&d.DataParallelSize, int(e.DataParallelSize))
	engines.SetDefault(&d.ExpertParallelSize, int(e.ExpertParallelSize))
	engines.SetDefault(&d.MaxNumSeqs, int(e.MaxNumSeqs))
	engines.SetDefault(&d.MaxNumBatchedTokens, int(e.MaxNumBatchedTokens))
	engines.SetDefault(&d.GPUMemoryUtilization, e.GPUMemoryUtilization)
	if server.engine.Name != engines.OpenAI.Name { // which only says that nothing else is known
		engines.SetDefault(&d.Engine, server.engine.Name)
	}
	engines.SetDefault(&d.EngineVersion, e.EngineVersion)
	engines.SetDefault(&d.Quantization, cmp.Or(e.Quantization, e.Dtype)) // weights that nothing quantizes are of the model's type
	engines.SetDefault(&d.KVCacheDtype, e.KVCacheDtype)
	if d.KVCacheDtype == "auto" {
		d.KVCacheDtype = e.Dtype
	}
	return d
}

// catalogName is empty for a model that the catalogue does not know: nothing can be compared then.
func (s Settings) catalogName(served string) string {
	if s.CatalogName == nil || served == "" {
		return ""
	}
	return s.CatalogName(served)
}
