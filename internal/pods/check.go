package pods

import (
	"net/url"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"tidemark/internal/hint"
)

// check finds what the cluster, or each of the pods, would refuse later.
func (j Job) check() error {
	for _, named := range []struct {
		flag, name string
		wrong      func(string) []string
	}{
		{"namespace", j.Namespace, validation.IsDNS1123Label},
		{"claim", j.Claim, validation.IsDNS1123Subdomain},
		{"secret", j.Secret, validation.IsDNS1123Subdomain},
		{"bucket-secret", j.BucketSecret, validation.IsDNS1123Subdomain},
	} {
		if why := named.wrong(named.name); named.name != "" && len(why) > 0 {
			return hint.Misuse("k8s: --%s %q: %s", named.flag, named.name, why[0]).Hint("give it as kubectl shows it")
		}
	}
	if u, err := url.Parse(j.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil { // it may hold a password and is not repeated
		return hint.Misuse("k8s: --base-url: not an http or https address, or one with a password").Hint("as in --base-url http://vllm:8000")
	}
	if j.Service == "" {
		return nil
	}
	if name := j.serviceSLOName(); !filepath.IsLocal(name) {
		return hint.Misuse("k8s: the service file names the SLO file %q, which is not below its own folder", name).
			Hint("put it there: the pod gets a folder with the two")
	}
	return nil
}

// serviceSLOName is the SLO file as the service file names it.
func (j Job) serviceSLOName() string {
	var said struct {
		SLO string `json:"slo"`
	}
	if yaml.Unmarshal([]byte(j.Service), &said) != nil {
		return ""
	}
	return said.SLO
}
