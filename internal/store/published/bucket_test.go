//go:build duckdb_arrow

package published_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/objects/objectstest"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse/warehousetest"
)

// object is what a manifest says of one.
type object struct {
	Path   string
	Bytes  int
	SHA256 string
}

// manifest is that of a bucket as any reader sees it.
type manifest struct {
	Format    int
	Off       bool
	Publisher string
	State     string
	Snapshot  *object
	Parts     []object
	Retired   []struct {
		Path string
		At   time.Time `json:"retired_at"`
	}
}

// bucket is a prefix on a server of the test's own.
type bucket struct {
	*objectstest.Server
	at objects.Address
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	server := objectstest.New(t)
	for name, value := range server.Environment() {
		t.Setenv(name, value)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	at := must.Get(objects.ParseAddress("s3://" + objectstest.Bucket + "/team"))(t)
	return &bucket{server, at}
}

// seen is the manifest, or nil. Every object that it names is there as it says: this is what a reader relies on.
func (b *bucket) seen(t *testing.T) *manifest {
	t.Helper()
	text := b.Get("team/manifest.json")
	if text == nil {
		return nil
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Error(err)
		return nil
	}
	named := slices.Clone(m.Parts)
	if m.Snapshot != nil {
		named = append(named, *m.Snapshot)
	}
	for _, o := range named {
		content := b.Get("team/" + o.Path)
		sum := sha256.Sum256(content)
		if len(content) != o.Bytes || hex.EncodeToString(sum[:]) != o.SHA256 {
			t.Errorf("%s has %d bytes and is not what the manifest says, %d bytes", o.Path, len(content), o.Bytes)
		}
	}
	return &m
}

// changed makes a change to a warehouse, publishes it beside, and sends it to the bucket.
func (b *bucket) changed(t *testing.T, path string, statements ...string) (published.Sent, error) {
	t.Helper()
	change(t, path, published.Folder(path, ""), statements...)
	return b.send(t, path)
}

func (b *bucket) send(t *testing.T, path string) (published.Sent, error) {
	t.Helper()
	return published.Send(t.Context(), path, b.at, "test", false, false)
}

func (b *bucket) mustChange(t *testing.T, path string, statements ...string) published.Sent {
	t.Helper()
	sent := must.Get(b.changed(t, path, statements...))(t)
	return sent
}

func TestABucketHasWhatTheFolderHas(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	// Whoever reads the manifest at any moment finds all that it names.
	b.Before = func(http.ResponseWriter, *http.Request) bool { b.seen(t); return false }
	if sent := b.mustChange(t, path, aRun("one 1%/2")); !sent.IsFirst || sent.Objects < 10 || sent.IsUnguarded {
		t.Errorf("the first time: %+v", sent)
	}
	first := b.seen(t)
	if sent, err := b.send(t, path); err != nil || sent.Objects != 0 {
		t.Errorf("nothing has changed: %+v, %v", sent, err)
	}
	b.mustChange(t, path, namedTrace("2"))
	second := b.seen(t)
	if second.Snapshot.Path == first.Snapshot.Path || second.State == first.State {
		t.Error("an object was changed in place, or the manifest is the old one")
	}
	local, err := os.ReadFile(published.Snapshot(published.Folder(path, "")))
	if err != nil || !bytes.Equal(local, b.Get("team/"+second.Snapshot.Path)) {
		t.Errorf("the snapshot is not that of the folder (%v)", err)
	}
	var want, got []string
	folder := must.Get(published.ReadManifest(published.Folder(path, "")))(t)
	for _, part := range folder.Parts {
		want = append(want, part.SHA256)
	}
	for _, part := range second.Parts {
		got = append(got, part.SHA256)
	}
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("the lake has %d parts, and in the folder %d", len(got), len(want))
	}
	// A reader of the first manifest still finds everything; an hour later the next publication removes it.
	for _, o := range append(first.Parts, *first.Snapshot) {
		if b.Get("team/"+o.Path) == nil {
			t.Errorf("%s was removed under its readers", o.Path)
		}
	}
	b.retireEarlier(t, 2*time.Hour)
	b.mustChange(t, path, namedTrace("3"))
	if b.Get("team/"+first.Snapshot.Path) != nil {
		t.Error("the first snapshot is still there, hours after it was retired")
	}
	if b.Get("team/"+second.Snapshot.Path) == nil {
		t.Error("the second snapshot is gone at once")
	}
}

// retireEarlier sets the clock back for what is retired.
func (b *bucket) retireEarlier(t *testing.T, by time.Duration) {
	t.Helper()
	var m map[string]any
	must.Do(t, json.Unmarshal(b.Get("team/manifest.json"), &m))
	for _, each := range m["retired"].([]any) {
		each.(map[string]any)["retired_at"] = time.Now().Add(-by).Format(time.RFC3339)
	}
	text := must.Get(json.Marshal(m))(t)
	b.Put("team/manifest.json", text)
}

func TestTwoPublishersAtOnce(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	b.mustChange(t, path, namedTrace("1"))

	// While one process is about to replace the manifest, another one publishes a newer state.
	isNested := false
	b.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		b.seen(t)
		if isNested || r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "manifest.json") {
			return false
		}
		isNested = true
		b.mustChange(t, path, namedTrace("2"))
		return false
	}
	b.mustChange(t, path, namedTrace("3"))
	folder, err := published.ReadManifest(published.Folder(path, ""))
	if now := b.seen(t); err != nil || !isNested || now.State != folder.Snapshot {
		t.Errorf("the bucket is of %s, and the warehouse %s (%v)", now.State, folder.Snapshot, err)
	}

	// Another warehouse is told whose the prefix is, and changes nothing.
	b.Before = nil
	before := b.Get("team/manifest.json")
	other := warehousetest.File(t)
	_, err = b.changed(t, other, namedTrace("4"))
	if err == nil || !strings.Contains(err.Error(), "published of another warehouse") || !strings.Contains(hint.Of(err), "--replace") || !bytes.Equal(before, b.Get("team/manifest.json")) {
		t.Errorf("another warehouse: %v; hint: %s", err, hint.Of(err))
	}
	must.Get(published.Send(t.Context(), other, b.at, "test", true, true))(t)
	b.seen(t)
	must.Refuse(b.send(t, path))(t)
}

func TestABucketThatRefuses(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	b.mustChange(t, path, namedTrace("1"))
	before, keys := b.Get("team/manifest.json"), b.Keys()
	for _, c := range []struct {
		trace  string
		what   string
		refuse func(w http.ResponseWriter, r *http.Request) bool
	}{
		{"11", "no right to write", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				objectstest.Refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
			}
			return r.Method == http.MethodPut
		}},
		{"12", "a connection that breaks in the middle of an object", func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/snapshots/") {
				_, _ = r.Body.Read(make([]byte, 1000))
				panic(http.ErrAbortHandler)
			}
			return false
		}},
		{"13", "a full bucket, once the first objects are there", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "staging.arrivals") {
				objectstest.Refuse(w, http.StatusInsufficientStorage, "QuotaExceeded", "Bucket quota exceeded")
				return true
			}
			return false
		}},
	} {
		b.Before = c.refuse
		_, err := b.changed(t, path, namedTrace(c.trace))
		if err == nil || hint.Of(err) == "" {
			t.Errorf("%s: got %v; hint %q", c.what, err, hint.Of(err))
		}
		b.Before = nil
		if got := b.Keys(); !bytes.Equal(before, b.Get("team/manifest.json")) || !slices.Equal(got, keys) {
			t.Errorf("%s: the bucket is not as before: it has %d objects, and had %d", c.what, len(got), len(keys))
		}
	}
	if _, err := b.send(t, path); err != nil {
		t.Error(err)
	}
	if b.seen(t) == nil || bytes.Equal(before, b.Get("team/manifest.json")) {
		t.Error("when the bucket takes objects again, nothing was published")
	}
	// What fails once the manifest is the new one leaves readers with the new state.
	isNew := false
	b.Before = func(w http.ResponseWriter, r *http.Request) bool {
		isNew = isNew || r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "manifest.json")
		isList := r.Method == http.MethodGet && r.URL.Query().Has("list-type")
		if isNew && isList {
			objectstest.Refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		}
		return isNew && isList
	}
	must.Refuse(b.changed(t, path, namedTrace("14")))(t, "readers see the new state")
}

func TestWhatIsNotOurs(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	b.Put("team/report.pdf", []byte("theirs"))
	must.Refuse(b.changed(t, path, namedTrace("1")))(t, "report.pdf")
	b.at.Prefix = "newer"
	b.Put("newer/manifest.json", []byte(`{"format": 2, "version": "9.0", "publisher": "x"}`))
	for _, err := range []error{second(b.send(t, path)), second(published.Follow(t.Context(), b.at))} {
		must.Fail(t, err, "by tidemark 9.0 in form 2", "upgrade this tidemark")
	}
	b.at.Prefix = "damaged"
	b.Put("damaged/manifest.json", []byte(`{`))
	must.Refuse(b.send(t, path))(t, "--replace")
	if _, err := published.Send(t.Context(), path, b.at, "test", true, true); err != nil {
		t.Errorf("--replace: %v", err)
	}
	b.at.Prefix = "unguarded"
	b.IgnoresConditions = true
	if sent, err := b.send(t, path); err != nil || !sent.IsUnguarded {
		t.Errorf("a server that heeds no conditions: %+v, %v", sent, err)
	}
}

func second[T any](_ T, err error) error { return err }

// What a killed publisher left is removed a day later, and what is missing is made anew when somebody looks.
func TestABucketIsMended(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	b.mustChange(t, path, namedTrace("1"))
	b.Put("team/snapshots/left.duckdb", []byte("by a killed process"))
	b.Put("team/mine.txt", []byte("of the user"))
	m := b.seen(t)
	b.Put("team/"+m.Parts[0].Path, []byte("cut"))
	b.Age(25 * time.Hour)
	sent, err := published.Send(t.Context(), path, b.at, "test", false, true)
	if err != nil || sent.Damaged != 1 || sent.Objects != 1 {
		t.Errorf("got %+v, %v; want one object made anew", sent, err)
	}
	b.seen(t)
	if b.Get("team/snapshots/left.duckdb") != nil || b.Get("team/mine.txt") == nil {
		t.Error("what a killed publisher left is there, or the user's object is not")
	}
}

func TestNothingInABucketOutlivesAPurge(t *testing.T) {
	b := newBucket(t)
	b.KeepsVersions = true
	path := warehousetest.File(t)
	b.mustChange(t, path, namedTrace("1"))
	b.mustChange(t, path, namedTrace("3"))
	elsewhere := *b
	elsewhere.at.Prefix = "elsewhere"
	elsewhere.mustChange(t, path)
	theirs := *b
	theirs.at.Prefix = "theirs"
	theirs.mustChange(t, warehousetest.File(t), namedTrace("4"))
	left := len(b.Everything())
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1") // the warehouse remembers the server too
	emptied, err := published.EmptyBuckets(t.Context(), path, "test")
	if err != nil || len(emptied) != 2 {
		t.Fatalf("emptied %v, %v", emptied, err)
	}
	t.Setenv("AWS_ENDPOINT_URL", b.URL)
	now := b.Everything()
	for _, content := range now {
		if bytes.Contains(content, []byte("source=1")) {
			t.Errorf("a version still names a source: %.100s", content)
		}
	}
	var m manifest
	if err := json.Unmarshal(b.Get("team/manifest.json"), &m); err != nil || m.Snapshot != nil || len(m.Parts) != 0 {
		t.Errorf("the manifest names %v, %v", m, err)
	}
	if want := len(keysOf(b, "theirs/")); len(now) >= left || len(keysOf(b, "team/"))+len(keysOf(b, "elsewhere/")) != 2 || want < 3 {
		t.Errorf("%d versions of %d are left, with %d objects of another warehouse; objects: %q", len(now), left, want, keysOf(b, "team/"))
	}
	if _, err := b.send(t, path); err != nil { // as purge does at last
		t.Error(err)
	}
	if m := b.seen(t); m.Snapshot == nil {
		t.Error("nothing is published again")
	}
	must.Do(t, published.SwitchOffBucket(t.Context(), path, b.at, "test"))
	if sent, err := b.changed(t, path, namedTrace("5")); err != nil || sent.Objects != 0 || len(keysOf(b, "team/")) != 1 {
		t.Errorf("switched off: %+v, %v, %q", sent, err, keysOf(b, "team/"))
	}
	if sent, err := published.Send(t.Context(), path, b.at, "test", false, true); err != nil || sent.Objects == 0 {
		t.Errorf("switched on: %+v, %v", sent, err)
	}
	// A bucket that cannot be reached is named.
	b.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		objectstest.Refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		return true
	}
	must.Refuse(published.EmptyBuckets(t.Context(), path, "test"))(t, "s3://traffic/team may still have rows")
}

// Parts of an upload that a kill broke off stayed in the bucket for ever, with rows that were purged.
func TestNoUploadOutlivesAPurge(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	b.mustChange(t, path, namedTrace("1"))
	begin := func(key string) {
		ask := func(method, query string, body io.Reader) string {
			request := must.Get(http.NewRequestWithContext(t.Context(), method, b.URL+"/"+objectstest.Bucket+"/"+key+"?"+query, body))(t)
			answer := must.Get(http.DefaultClient.Do(request))(t)
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			return string(text)
		}
		_, id, _ := strings.Cut(ask(http.MethodPost, "uploads", nil), "<UploadId>")
		id, _, _ = strings.Cut(id, "<")
		ask(http.MethodPut, "partNumber=1&uploadId="+id, strings.NewReader("a part of "+key))
	}
	holds := func(text string) bool {
		return slices.ContainsFunc(b.Everything(), func(content []byte) bool { return bytes.Contains(content, []byte(text)) })
	}
	begin("team/snapshots/broken-off.duckdb")
	begin("team/mine.bin")
	if !holds("a part of team/snapshots") {
		t.Fatal("the test shows nothing")
	}
	must.Get(published.EmptyBuckets(t.Context(), path, "test"))(t)
	if holds("a part of team/snapshots") || !holds("a part of team/mine.bin") {
		t.Error("an upload that was broken off is there, or the user's is not")
	}
	// Nothing is published here any more, but somebody was killed when it was to be.
	begin("team/lake/marts.runs/again.parquet")
	if _, err := published.EmptyBuckets(t.Context(), path, "test"); err != nil || holds("a part of team/lake") {
		t.Errorf("where nothing is published: %v", err)
	}
	b.Before = func(w http.ResponseWriter, r *http.Request) bool {
		cannot := r.URL.Query().Has("uploads")
		if cannot {
			objectstest.Refuse(w, http.StatusNotImplemented, "NotImplemented", "no multipart here")
		}
		return cannot
	}
	must.Refuse(published.EmptyBuckets(t.Context(), path, "test"))(t, "uploads that were broken off cannot be ended")
}

func keysOf(b *bucket, prefix string) []string {
	return slices.DeleteFunc(b.Keys(), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

func TestAFollowerHasAWholeSnapshot(t *testing.T) {
	b := newBucket(t)
	path := warehousetest.File(t)
	must.Refuse(published.Follow(t.Context(), b.at))(t, "nothing is published in s3://traffic/team")
	b.mustChange(t, path, namedTrace("1"))
	f := must.Get(published.Follow(t.Context(), b.at))(t)
	snapshot := published.Snapshot(f.Folder())
	isOf := func(what string) {
		t.Helper()
		got, err := os.ReadFile(snapshot)
		if m := b.seen(t); err != nil || fmt.Sprintf("%x", sha256.Sum256(got)) != m.Snapshot.SHA256 {
			t.Errorf("%s: latest.duckdb is not the snapshot of the manifest (%v)", what, err)
		}
	}
	isOf("at the start")
	refresh := func(want bool) error {
		t.Helper()
		is, err := f.Refresh(t.Context())
		if is != want {
			t.Errorf("a new snapshot: got %t, %v", is, err)
		}
		if !errors.Is(f.Trouble(), err) {
			t.Errorf("the trouble is %v, want %v", f.Trouble(), err)
		}
		return err
	}
	downloads := 0
	b.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/snapshots/") {
			downloads++
		}
		return false
	}
	must.Do(t, refresh(false))
	b.mustChange(t, path, namedTrace("3"))
	must.Do(t, refresh(true))
	isOf("after a change")
	if _, err := published.Follow(t.Context(), b.at); err != nil || downloads != 1 {
		t.Errorf("%d downloads (%v): what is there already was fetched again", downloads, err)
	}

	// A snapshot of other bytes, one that is cut short, and a server that fails: the last one stays.
	old := must.Get(os.ReadFile(snapshot))(t)
	b.mustChange(t, path, namedTrace("2"))
	for what, answer := range map[string]func(w http.ResponseWriter){
		"other bytes": func(w http.ResponseWriter) { _, _ = w.Write(old) },
		"without end": func(w http.ResponseWriter) {
			for range 1000 {
				if _, err := w.Write(old); err != nil {
					return
				}
			}
			t.Error("a snapshot that is longer than the manifest says was fetched to its end")
		},
		"cut short": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(old)))
			_, _ = w.Write(old[:1000])
		},
		"a failure": func(w http.ResponseWriter) {
			objectstest.Refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		},
	} {
		f.FetchAgain()
		fetched := 0
		b.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/snapshots/") {
				return false
			}
			fetched++
			w.Header().Set("Last-Modified", "Mon, 23 Nov 2026 10:00:00 GMT")
			answer(w)
			return true
		}
		must.Fail(t, refresh(false))
		if what == "other bytes" {
			if err := refresh(false); err == nil || fetched != 1 {
				t.Errorf("a damaged snapshot was fetched %d times while its manifest was the same (%v)", fetched, err)
			}
		}
		if got, err := os.ReadFile(snapshot); err != nil || !bytes.Equal(got, old) {
			t.Errorf("%s: the last snapshot is not there any more (%v)", what, err)
		}
	}
	b.Before = nil
	f.FetchAgain()
	must.Do(t, refresh(true))
	isOf("when the server works again")
	entries, err := os.ReadDir(f.Folder())
	if err != nil || len(entries) != 2 {
		t.Errorf("in the cache: %v (%v), want latest.duckdb and the lock", entries, err)
	}

	// What is withdrawn, as by a purge, is not kept here either.
	must.Get(published.EmptyBuckets(t.Context(), path, "test"))(t)
	must.Fail(t, refresh(false), "nothing is published")
	if _, err := os.Stat(snapshot); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the withdrawn snapshot is still in the cache: %v", err)
	}
	must.Get(b.send(t, path))(t)
	must.Do(t, refresh(true))
	isOf("published again")
	if info, err := os.Stat(filepath.Dir(snapshot)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into the cache: %v", info.Mode())
	}
}
