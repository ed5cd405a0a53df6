//go:build objects

package realobjects

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/objects"
)

const key, secret = "tester", "canary-secret-0123456789"

// s3 is a server in a process of its own; its objects are files.
type s3 struct {
	folder string // of the test
	files  string // where the server keeps objects, and old versions beside them
	port   int
	stop   func()
}

// start makes the server, points the AWS variables of the test at it, and makes a bucket, which keeps old versions.
func start(t *testing.T) *s3 {
	t.Helper()
	s := &s3{folder: t.TempDir(), port: proof.FreePort(t)}
	s.files = filepath.Join(s.folder, "files")
	for _, folder := range []string{"objects", "versions"} {
		must.Do(t, os.MkdirAll(filepath.Join(s.files, folder), 0o700))
	}
	writeCertificate(t, s.folder)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": fmt.Sprintf("https://127.0.0.1:%d", s.port), "AWS_CA_BUNDLE": filepath.Join(s.folder, "cert.pem"),
		"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "XDG_CACHE_HOME": filepath.Join(s.folder, "cache"), "TIDEMARK_PUBLISH": "",
	} {
		t.Setenv(name, value)
	}
	s.run(t)
	s.makeBucket(t, "traffic")
	return s
}

func (s *s3) run(t *testing.T) {
	t.Helper()
	program := os.Getenv("OBJECTS_SERVER")
	if program == "" {
		t.Fatal("OBJECTS_SERVER is not set: make test-objects sets it")
	}
	in := func(name string) string { return filepath.Join(s.folder, name) }
	cmd := exec.Command(program, "--access", key, "--secret", secret, "--port", fmt.Sprintf("127.0.0.1:%d", s.port), "--cert", in("cert.pem"), "--key", in("key.pem"), "--quiet",
		"posix", "--versioning-dir", in("files/versions"), in("files/objects"))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(t, cmd.Start())
	var once sync.Once
	s.stop = func() { once.Do(func() { cmd.Process.Kill(); cmd.Wait() }) }
	t.Cleanup(s.stop)
	within(t, 30*time.Second, "the server "+log.String(), func() bool {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
}

func (s *s3) makeBucket(t *testing.T, name string) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(s.folder, "cert.pem")))(t)
	transport := must.Get(minio.DefaultTransport(true))(t)
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	admin := must.Get(minio.New(fmt.Sprintf("127.0.0.1:%d", s.port), &minio.Options{Secure: true, Region: "us-east-1", Creds: credentials.NewStaticV4(key, secret, ""), Transport: transport}))(t)
	must.Do(t, errors.Join(admin.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}), admin.EnableVersioning(t.Context(), name)))
}

func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	certificate := must.Get(x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private))(t)
	privateText := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: certificate}, "key.pem": {Type: "PRIVATE KEY", Bytes: privateText}} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
}

func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come within %s", what, limit)
		}
	}
}

// tidemark runs the program in the test's folder and returns its exit code and all that it said.
func (s *s3) tidemark(arguments ...string) (code int, said string) {
	cmd := exec.Command(os.Getenv("OBJECTS_TIDEMARK"), arguments...)
	cmd.Dir = s.folder
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (s *s3) must(t *testing.T, arguments ...string) string {
	t.Helper()
	code, said := s.tidemark(arguments...)
	if code != 0 || strings.Contains(said, "warning") || strings.Contains(said, secret) {
		t.Fatalf("tidemark %s: exit code %d:\n%s", strings.Join(arguments, " "), code, said)
	}
	return said
}

func (s *s3) trace(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(s.folder, name+".csv")
	text := fmt.Sprintf("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,%d,1\n", crc32.ChecksumIEEE([]byte(name))%100_000) // other content, another source
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// read goes through the manifest once: all that it names must be there as it says, unless the next manifest has come and
// an hour has passed. It returns how many objects that were.
func read(ctx context.Context, store *objects.Store) (count int, err error) {
	text, _, err := store.Read(ctx, "manifest.json", "")
	if err != nil {
		return 0, err
	}
	type named struct{ Path, SHA256 string }
	var m struct {
		Snapshot *named
		Parts    []named
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return 0, err
	}
	if m.Snapshot != nil {
		m.Parts = append(m.Parts, *m.Snapshot)
	}
	for _, o := range m.Parts {
		hash := sha256.New()
		if err := store.Fetch(ctx, o.Path, hash); err != nil {
			return count, err
		}
		if got := fmt.Sprintf("%x", hash.Sum(nil)); got != o.SHA256 {
			return count, fmt.Errorf("%s: other bytes than the manifest says", o.Path)
		}
		count++
	}
	return count, nil
}

func storeAt(t *testing.T, address string) *objects.Store {
	t.Helper()
	at := must.Get(objects.ParseAddress(address))(t)
	store := must.Get(objects.Open(at))(t)
	return store
}

func TestReadersAndPublishersAtOnce(t *testing.T) {
	s := start(t)
	const address = "s3://traffic/a-team/odd=name_1.2"
	store := storeAt(t, address)
	s.must(t, "ingest", s.trace(t, "first"), "--publish", address)
	var readers sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	reads, found := 0, 0
	readers.Go(func() {
		for ctx.Err() == nil {
			count, err := read(t.Context(), store)
			if err != nil {
				t.Error(err)
				return
			}
			reads++
			found += count
		}
	})
	// Three processes publish at the same time, of which two always find that they came second.
	const rounds = 4
	for round := range rounds {
		s.must(t, "ingest", s.trace(t, fmt.Sprint("round-", round)), "--publish", "off")
		var publishers sync.WaitGroup
		for range 3 {
			publishers.Go(func() {
				if code, said := s.tidemark("warehouse", "publish", "--publish", address); code != 0 || strings.Contains(said, "warning") {
					t.Errorf("publish: exit code %d: %s", code, said)
				}
			})
		}
		publishers.Wait()
	}
	end()
	readers.Wait()
	count, err := read(t.Context(), store)
	if err != nil || count != 1+rounds+1 {
		t.Errorf("at the end: %d objects (%v), want a snapshot and a part for each of %d traces", count, err, rounds+1)
	}
	if reads < rounds {
		t.Errorf("a reader went through the manifest %d times only", reads)
	}
	t.Logf("a reader went through the manifest %d times and found all %d objects", reads, found)
	must.Say(t, s.must(t, "warehouse", "publish", "--publish", address), "odd=name_1.2 is of the present state")
}

// A publisher that is killed (-9) at any moment leaves the state before, or the one after; the next one publishes.
func TestKilledPublishers(t *testing.T) {
	s := start(t)
	const address = "s3://traffic/team"
	store := storeAt(t, address)
	s.must(t, "ingest", s.trace(t, "first"), "--publish", address)
	const kills = 12
	left := 0
	for i := range kills {
		s.must(t, "ingest", s.trace(t, fmt.Sprint("kill-", i)), "--publish", "off")
		cmd := exec.Command(os.Getenv("OBJECTS_TIDEMARK"), "warehouse", "publish", "--publish", address)
		cmd.Dir = s.folder
		must.Do(t, cmd.Start())
		time.Sleep(time.Duration(100+i*60) * time.Millisecond) // not a wait for anything: moments over the length of a publication
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			left++
		}
		if _, err := read(t.Context(), store); err != nil {
			t.Errorf("after kill %d: %v", i, err)
		}
	}
	s.must(t, "warehouse", "publish", "--publish", address)
	if count, err := read(t.Context(), store); err != nil || count != 1+1+kills {
		t.Errorf("at the end: %d objects (%v), want a snapshot and %d parts", count, err, 1+kills)
	}
	if left == 0 {
		t.Error("no publisher was killed in time")
	}
	t.Logf("%d of %d publishers were killed before their end", left, kills)
}

func TestServeFollowsABucket(t *testing.T) {
	s := start(t)
	s.must(t, "ingest", s.trace(t, "first"), "--publish", "s3://traffic/team")
	var log lockedBuffer
	cmd := exec.Command(os.Getenv("OBJECTS_TIDEMARK"), "serve", "--no-token", "--port", "0", "--published", "s3://traffic/team")
	elsewhere := t.TempDir() // another machine has the bucket alone
	cmd.Dir, cmd.Stderr = elsewhere, &log
	must.Do(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGINT)
	url := ""
	within(t, 30*time.Second, "the address of serve", func() bool {
		if found := regexp.MustCompile(`SQL at (http://\S+)/v1/sql`).FindStringSubmatch(log.String()); found != nil {
			url = found[1]
		}
		return url != ""
	})
	names := func() string {
		request := must.Get(http.NewRequest(http.MethodPost, url+"/v1/sql", strings.NewReader("select string_agg(name, ' ' order by name) as names from raw.sources")))(t)
		request.Header.Set("Accept", "text/csv")
		_, text := get(t, request)
		return strings.TrimPrefix(strings.TrimSpace(text), "names\n")
	}
	health := func() int {
		request := must.Get(http.NewRequest(http.MethodGet, url+"/healthz", nil))(t)
		status, _ := get(t, request)
		return status
	}
	if got := names(); got != "first" || health() != 200 {
		t.Errorf("at the start: %q, health %d", got, health())
	}
	s.must(t, "ingest", s.trace(t, "second"), "--publish", "s3://traffic/team")
	within(t, 30*time.Second, "the second trace", func() bool { return names() == "first second" })
	s.stop()
	within(t, 60*time.Second, "the health of a server whose bucket is gone", func() bool { return health() == 503 })
	if got := names(); got != "first second" {
		t.Errorf("while the bucket is gone: %q", got)
	}
	s.run(t)
	within(t, 60*time.Second, "the health of a server whose bucket is back", func() bool { return health() == 200 })
	must.Say(t, log.String(), "warning: s3://traffic/team/manifest.json: ", "the last snapshot is served until that is over", "s3://traffic/team can be read again")
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 || strings.Contains(log.String(), secret) {
		t.Errorf("serve left %v (%v), and said %s", left, err, log.String())
	}
}

func get(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	var text bytes.Buffer
	must.Get(text.ReadFrom(response.Body))(t)
	return response.StatusCode, text.String()
}

// A name that is in the snapshot is in no file of the server after a purge, though the bucket keeps old versions.
func TestAPurgeLeavesNothingWithTheServer(t *testing.T) {
	s := start(t)
	const name = "trace-that-must-go"
	s.must(t, "ingest", s.trace(t, name), "--publish", "s3://traffic/team")
	s.must(t, "ingest", s.trace(t, "stays"), "--publish", "s3://traffic/team")
	if found := s.filesWith(t, name); len(found) < 2 {
		t.Fatalf("the name is in %q: the bucket keeps no old version, so that the test shows nothing", found)
	}
	s.must(t, "warehouse", "purge", name)
	if found := s.filesWith(t, name); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	if found := s.filesWith(t, "stays"); len(found) == 0 {
		t.Error("what is left is not published again")
	}
}

func (s *s3) filesWith(t *testing.T, word string) (found []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(s.files, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(word)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func TestWhatARealServerRefuses(t *testing.T) {
	s := start(t)
	refused := func(want string, arguments ...string) {
		t.Helper()
		if code, said := s.tidemark(arguments...); code != 4 || !strings.Contains(said, want) || strings.Contains(said, secret) {
			t.Errorf("tidemark %s: exit code %d, want 4 and %q:\n%s", strings.Join(arguments, " "), code, want, said)
		}
	}
	s.must(t, "ingest", s.trace(t, "ours"), "--publish", "s3://traffic/team")
	s.must(t, "ingest", s.trace(t, "theirs"), "--publish", "off", "--warehouse", "theirs.duckdb")
	refused("it holds what is published of another warehouse", "warehouse", "publish", "--publish", "s3://traffic/team", "--warehouse", "theirs.duckdb")
	refused("the server says NoSuchBucket", "warehouse", "publish", "--publish", "s3://nobodys/team")
	refused("nothing is published in s3://traffic/nothing", "serve", "--no-token", "--port", "0", "--published", "s3://traffic/nothing")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
	refused("the server says SignatureDoesNotMatch", "warehouse", "publish", "--publish", "s3://traffic/team")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("HOME", t.TempDir())
	refused("AccessDenied", "warehouse", "publish", "--publish", "s3://traffic/team")
}

// The name of a part has the run's id as URLs encode it, which is encoded once more on the way.
func TestOddNames(t *testing.T) {
	s := start(t)
	store := storeAt(t, "s3://traffic/team")
	const name = "lake/marts.runs/run_id=a%20b%2F%25+ü/part.1.parquet"
	file := must.Get(os.Open(s.trace(t, "odd")))(t)
	defer file.Close()
	must.Do(t, store.Write(t.Context(), name, file, 10))
	var content strings.Builder
	list, err := store.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != name || list[0].Bytes != 10 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if err := store.Fetch(t.Context(), name, &content); err != nil || content.String() != "TIMESTAMP," {
		t.Errorf("got %q, %v", content.String(), err)
	}
	must.Do(t, store.Remove(t.Context(), list))
	if list, err := store.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after its removal: %+v, %v", list, err)
	}
}

// lockedBuffer is what a process says while it runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
