package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

const tokenOfTests = "0123456789abcdef0123456789abcdef"

// startServe publishes an empty warehouse and serves it as a user does.
func startServe(t *testing.T, environment []string, flags ...string) *running {
	t.Helper()
	r := &running{dir: t.TempDir(), stderr: new(lockedBuffer), done: make(chan error, 1)}
	folder := filepath.Join(r.dir, "w.published")
	must.Do(t, os.Mkdir(folder, 0o700))
	must.Do(t, warehousetest.Template(filepath.Join(folder, "latest.duckdb")))
	r.cmd = exec.Command("tidemark", append([]string{"serve", "--warehouse", "w.duckdb", "--port", "0"}, flags...)...)
	r.cmd.Dir, r.cmd.Stderr = r.dir, r.stderr
	r.cmd.Env = append(os.Environ(), environment...)
	must.Do(t, r.cmd.Start())
	t.Cleanup(func() { r.cmd.Process.Kill() })
	go func() { r.done <- r.cmd.Wait() }()
	said := regexp.MustCompile(`SQL at (https?://\S+)/v1/sql`)
	r.waitFor(t, "the server", func() bool {
		found := said.FindStringSubmatch(r.stderr.String())
		if found != nil {
			r.url = found[1]
		}
		return found != nil
	})
	return r
}

func (r *running) get(t *testing.T, client *http.Client, method, path, body string) (int, string) {
	t.Helper()
	request := must.Get(http.NewRequest(method, r.url+path, strings.NewReader(body)))(t)
	request.Header.Set("Authorization", "Bearer "+tokenOfTests)
	request.Header.Set("Accept", "text/csv")
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// The program answers, its workers are itself, reports are those of "tidemark report", and after two signals nothing is left running.
func TestServe(t *testing.T) {
	r := startServe(t, []string{"TIDEMARK_TOKEN=" + tokenOfTests})
	if status, got := r.get(t, http.DefaultClient, "POST", "/v1/sql", "select count(*) as runs from marts.runs"); status != 200 || got != "runs\n0\n" {
		t.Errorf("got %d %q, want no runs", status, got)
	}
	if status, got := r.get(t, http.DefaultClient, "GET", "/v1/reports/runs/none", ""); status != 404 || !strings.Contains(got, `no run \"none\"`) {
		t.Errorf("the report of no run: got %d %q, want 404", status, got)
	}
	asked := make(chan int, 1)
	go func() {
		status, _ := r.get(t, http.DefaultClient, "POST", "/v1/sql", "select count(*) from range(10000000) as a (n), range(10000000) as b (n) where a.n * b.n = 7")
		asked <- status
	}()
	r.waitFor(t, "the query", func() bool {
		_, metrics := r.get(t, http.DefaultClient, "GET", "/metrics", "")
		return strings.Contains(metrics, `workers{state="running"} 1`)
	})
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", r.cmd.Process.Pid))
	r.cmd.Process.Signal(syscall.SIGINT)
	r.waitFor(t, "the end of listening", func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err == nil {
			connection.Close()
		}
		return err != nil
	})
	select {
	case <-asked:
		t.Error("the first signal ended a query that ran")
	default:
	}
	r.cmd.Process.Signal(syscall.SIGINT)
	if code := r.exitCode(t); code != 130 {
		t.Errorf("exit code %d, want 130; stderr:\n%s", code, r.stderr.String())
	}
	if status := <-asked; status == 200 {
		t.Error("a query without an end was answered")
	}
	for _, child := range strings.Fields(string(children)) {
		if _, err := os.Stat("/proc/" + child); err == nil {
			t.Errorf("the worker %s is still there", child)
		}
	}
	if said := r.stderr.String(); strings.Contains(said, tokenOfTests) {
		t.Errorf("stderr has the token:\n%s", said)
	}
}

func TestServeOverTLS(t *testing.T) {
	dir := t.TempDir()
	certificate := selfSigned(t, dir)
	must.Do(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte("# a team\nalice "+tokenOfTests+"\n"), 0o600))
	r := startServe(t, nil, "--token-file", filepath.Join(dir, "tokens"), "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	if status, got := r.get(t, client, "POST", "/v1/sql", "select 42 as x"); status != 200 || got != "x\n42\n" || !strings.HasPrefix(r.url, "https://") {
		t.Errorf("%s: got %d %q", r.url, status, got)
	}
}

func selfSigned(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	text := must.Get(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))(t)
	keyText := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: text}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyText}} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	certificate := must.Get(x509.ParseCertificate(text))(t)
	return certificate
}
