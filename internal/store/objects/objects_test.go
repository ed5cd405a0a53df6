package objects_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/objects/objectstest"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct{ text, bucket, prefix, endpoint string }{
		{"s3://traffic", "traffic", "", ""},
		{"s3://traffic/", "traffic", "", ""},
		{"s3://traffic/a/b/", "traffic", "a/b", ""},
		{"s3://traffic/a?endpoint=http%3A%2F%2F127.0.0.1%3A9000", "traffic", "a", "http://127.0.0.1:9000"},
	} {
		a, err := objects.ParseAddress(c.text)
		if err != nil || a.Bucket != c.bucket || a.Prefix != c.prefix || a.Endpoint != c.endpoint {
			t.Errorf("ParseAddress(%q): got %+v, %v", c.text, a, err)
		}
		if again, err := objects.ParseAddress(a.Full()); err != nil || again != a {
			t.Errorf("ParseAddress(%q): got %+v, %v, want %+v", a.Full(), again, err, a)
		}
	}
	for _, text := range []string{"s3://", "s3://UPPER/x", "s3:///x", "s3://a_b/x", "s3://traffic/a//b", "s3://traffic/a?region=x", "s3://traffic/a#x", "s3://AKIA:secret@traffic/x", "s3://a b", "s3://traffic/a b", "s3://traffic/a%20b", "s3://traffic/ä"} {
		_, err := objects.ParseAddress(text)
		if err == nil || !hint.IsMisuse(err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseAddress(%q): got %v, want a misuse that repeats no key", text, err)
		}
	}
}

// A folder may have any name but one that is meant as an address.
func TestAnAddressIsNoFolder(t *testing.T) {
	for text, is := range map[string]bool{"S3://traffic/x": true, "s3:/traffic/x": true, "gs://traffic/x": true, "https://traffic/x": true, "s3://traffic/x": false, "/srv/published": false, "a:b": false, "off": false} {
		if err := objects.CheckFolder(text); (err != nil) != is || is && !hint.IsMisuse(err) {
			t.Errorf("CheckFolder(%q): %v", text, err)
		}
	}
}

// at is a store on a server of the test's own.
func at(t *testing.T, server *objectstest.Server) *objects.Store {
	t.Helper()
	for name, value := range server.Environment() {
		t.Setenv(name, value)
	}
	address := must.Get(objects.ParseAddress("s3://" + objectstest.Bucket + "/some/prefix"))(t)
	store := must.Get(objects.Open(address))(t)
	return store
}

func TestSwapIsOfOneProcessAtATime(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	ctx := t.Context()
	if _, _, err := store.Read(ctx, "m", ""); !errors.Is(err, objects.ErrNotThere) {
		t.Errorf("an object that is not there: %v", err)
	}
	must.Do(t, store.Swap(ctx, "m", []byte("1"), ""))
	content, tag, err := store.Read(ctx, "m", "")
	if string(content) != "1" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
	if _, _, err := store.Read(ctx, "m", tag); !errors.Is(err, objects.ErrSame) {
		t.Errorf("read again with its tag: %v, want ErrSame", err)
	}
	if err := store.Swap(ctx, "m", []byte("2"), ""); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("where there should be none: %v, want ErrChanged", err)
	}
	must.Do(t, store.Swap(ctx, "m", []byte("2"), tag))
	if err := store.Swap(ctx, "m", []byte("3"), tag); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("with an old tag: %v, want ErrChanged", err)
	}
	if got := string(server.Get("some/prefix/m")); got != "2" {
		t.Errorf("got %q, want 2", got)
	}
	for _, ignores := range []bool{false, true} {
		server.IgnoresConditions = ignores
		if keeps, err := store.KeepsConditions(ctx, "try"); keeps == ignores || err != nil {
			t.Errorf("a server that ignores conditions is %t: KeepsConditions says %t, %v", ignores, keeps, err)
		}
	}
	if keys := server.Keys(); len(keys) != 1 {
		t.Errorf("left behind: %q", keys)
	}
}

// A write whose answer is lost is sent again by the client, and then its condition does not hold any more.
func TestSwapWhoseAnswerIsLost(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	isLost := false
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || isLost {
			return false
		}
		isLost = true
		server.Put("some/prefix/m", []byte("1"))
		panic(http.ErrAbortHandler) // the connection breaks
	}
	if err := store.Swap(t.Context(), "m", []byte("1"), ""); err != nil || !isLost {
		t.Errorf("got %v, want success: the object is ours", err)
	}
}

func TestWhatAServerRefuses(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte("abc"), 0o600))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	for _, c := range []struct {
		what       string
		status     int
		code       string
		text, todo string
	}{
		{"a key without the right", http.StatusForbidden, "AccessDenied", "s3://traffic/some/prefix/x: the server says AccessDenied: no", "s3:PutObject"},
		{"a bucket that is not there", http.StatusNotFound, "NoSuchBucket", "NoSuchBucket", "make the bucket first"},
		{"a full bucket", http.StatusInsufficientStorage, "QuotaExceeded", "QuotaExceeded", ""},
	} {
		server.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			objectstest.Refuse(w, c.status, c.code, "no.")
			return true
		}
		err := store.Write(t.Context(), "x", file, 3)
		if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(hint.Of(err), c.todo) || hint.IsMisuse(err) {
			t.Errorf("%s: got %v; hint %q", c.what, err, hint.Of(err))
		}
	}
	// A body that ends too early is an error, and no object.
	server.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "10")
		w.Header().Set("Last-Modified", "Mon, 23 Nov 2026 10:00:00 GMT")
		_, _ = w.Write([]byte("half"))
		return true
	}
	var b strings.Builder
	must.Fail(t, store.Fetch(t.Context(), "x", &b))
}

func TestOldVersionsAreRemovedToo(t *testing.T) {
	server := objectstest.New(t)
	server.KeepsVersions = true
	store := at(t, server)
	for _, content := range []string{"1", "2"} {
		server.Put("some/prefix/x", []byte(content))
		server.Put("elsewhere/x", []byte(content))
	}
	list, err := store.ListVersions(t.Context())
	if err != nil || len(list) != 2 || list[0].IsNow() || !list[1].IsNow() {
		t.Fatalf("got %+v, %v", list, err)
	}
	must.Do(t, store.Remove(t.Context(), list))
	if left := len(server.Everything()); left != 2 {
		t.Errorf("%d versions are left, want the 2 below another prefix", left)
	}
}
