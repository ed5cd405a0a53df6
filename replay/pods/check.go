package pods

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/hint"
)

// check finds what the cluster, or each of the pods, would refuse later.
func (j Job) check() error {
	for _, named := range []struct {
		flag, name string
		wrong      func(string) string
	}{
		{"namespace", j.Namespace, wrongLabel},
		{"claim", j.Claim, wrongSubdomain},
		{"secret", j.Secret, wrongSubdomain},
		{"bucket-secret", j.BucketSecret, wrongSubdomain},
	} {
		if why := named.wrong(named.name); named.name != "" && why != "" {
			return hint.Misuse("k8s: --%s %q: %s", named.flag, named.name, why).Hint("give it as kubectl shows it")
		}
	}
	if u, err := url.Parse(j.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil { // it may hold a password and is not repeated
		return hint.Misuse("k8s: --base-url: not an http or https address, or one with a password").Hint("as in --base-url http://vllm:8000")
	}
	switch isAddress := strings.Contains(j.Plan, "://"); {
	case j.Results == "" && isAddress:
		return hint.Misuse("k8s: the plan %s is an address, and the pods look for it on their volume", j.Plan).Hint("name the plan's path on the volume, or send results to a bucket with --results")
	case j.Results == "" && !filepath.IsLocal(j.Plan):
		return hint.Misuse("k8s: the plan %s is not below the volume", j.Plan).Hint("name its path from the volume's top, as in plans/friday.jsonl.zst")
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
		SLO string `yaml:"slo"`
	}
	if yaml.Unmarshal([]byte(j.Service), &said) != nil {
		return ""
	}
	return said.SLO
}

// A name of Kubernetes is a label of RFC 1123, or some of them with dots between. What is wrong with one is said in the words of kubectl.
const (
	labelForm     = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	subdomainForm = labelForm + `(\.` + labelForm + ")*"
)

func wrongLabel(name string) string {
	switch {
	case len(name) > 63:
		return "must be no more than 63 characters"
	case isOf(labelForm, name):
		return ""
	case isOf(subdomainForm, name):
		return "must not contain dots"
	}
	return fmt.Sprintf("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"+
		" (e.g. 'my-name',  or '123-abc', regex used for validation is '%s')", labelForm)
}

func wrongSubdomain(name string) string {
	switch {
	case len(name) > 253:
		return "must be no more than 253 characters"
	case isOf(subdomainForm, name):
		return ""
	}
	return fmt.Sprintf("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"+
		" (e.g. 'example.com', regex used for validation is '%s')", subdomainForm)
}

func isOf(form, name string) bool { return regexp.MustCompile("^" + form + "$").MatchString(name) }
