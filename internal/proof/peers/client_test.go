//go:build peers

package peers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// client is a load generator under measurement.
type client interface {
	name() string
	// program must be there, else the client is reported as not installed.
	program() string
	// command is the argument list that sends the load to the server; what it reads and
	// reports lies in dir. A cannot says why there is no such command.
	command(l load, base, dir string) ([]string, error)
	// said reads what the client reported.
	said(dir string) (saying, error)
}

// saying is what a client tells of its requests that went well: seconds.
type saying struct {
	ttft, tpot []float64
	// took is from its first request's start to its last one's end.
	took    float64
	failed  int
	remarks []string // what else a reader must know
}

// cannot is why a client is unable to do a load.
type cannot string

func (c cannot) Error() string { return string(c) }

func isCannot(err error) (string, bool) {
	var why cannot
	return string(why), errors.As(err, &why)
}

// places are where setup.sh put things.
type places struct {
	cache     string // .../tidemark
	tokenizer string // folder; also in the Hugging Face cache at hub, as tidemark/tiny
	hub       string
}

func (p places) venv(name string) string { return filepath.Join(p.cache, "peers", name, "bin") }

// environment keeps every peer off the network.
func (p places) environment() []string {
	return append(os.Environ(), "HF_HOME="+p.hub, "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HF_DATASETS_OFFLINE=1",
		"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "NO_COLOR=1", "TERM=dumb", "COLUMNS=200", "PYTHONUNBUFFERED=1")
}

// version asks Python's package data, or the program itself.
func version(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return "version unknown"
	}
	words := strings.Fields(string(out))
	if len(words) == 0 {
		return "version unknown"
	}
	return words[len(words)-1]
}

func packageVersion(python, name string) string {
	return version(python, "-c", "import importlib.metadata as m; print(m.version('"+name+"'))")
}
