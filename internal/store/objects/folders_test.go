package objects_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/objects/objectstest"
)

// made is a folder with these files, whose content is their name.
func made(t *testing.T, name string, files ...string) string {
	folder := filepath.Join(t.TempDir(), name)
	must.Do(t, os.Mkdir(folder, 0o755))
	for _, file := range files {
		must.Do(t, os.WriteFile(filepath.Join(folder, file), []byte(file), 0o644))
	}
	return folder
}

func TestFoldersOfRunsGoAndComeBack(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	for _, name := range []string{"one-shard-0-of-2", "one-shard-1-of-2", "two-shard-0-of-1"} {
		must.Do(t, store.PutFolder(t.Context(), made(t, name, "plan.jsonl.zst", "requests.jsonl.zst", "run.json")))
	}
	into := filepath.Join(t.TempDir(), "runs")
	for range 2 { // the second time they are there
		folders, err := objects.FetchFolders(t.Context(), "s3://traffic/some/prefix/one-shard-*", into)
		if want := []string{filepath.Join(into, "one-shard-0-of-2"), filepath.Join(into, "one-shard-1-of-2")}; err != nil || !slices.Equal(folders, want) {
			t.Fatalf("got %q, %v", folders, err)
		}
	}
	if content, err := os.ReadFile(filepath.Join(into, "one-shard-1-of-2", "requests.jsonl.zst")); err != nil || string(content) != "requests.jsonl.zst" {
		t.Errorf("%q, %v", content, err)
	}
	if left, _ := filepath.Glob(filepath.Join(into, ".fetch-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	plan := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	must.Do(t, objects.FetchFile(t.Context(), "s3://traffic/some/prefix/two-shard-0-of-1/plan.jsonl.zst", plan))
	if err := objects.FetchFile(t.Context(), "s3://traffic/some/prefix/none.zst", plan+"2"); !errors.Is(err, objects.ErrNotThere) {
		t.Errorf("an object that is not there: %v", err)
	}
}

// A folder of the same name that says "running" was deleted, though it was the newer one, and may be written at this moment.
func TestAFolderThatWasNotFetchedStays(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	folder := made(t, "one-shard-0-of-1", "run.json", "requests.jsonl.zst")
	must.Do(t, store.PutFolder(t.Context(), folder))
	own, copied := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "copied")
	write := func(into, name, content string) {
		path := filepath.Join(into, "one-shard-0-of-1", name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)))
	}
	fetch := func(into string) error {
		_, err := objects.FetchFolders(t.Context(), "s3://traffic/some/prefix/one-*", into)
		return err
	}
	write(own, "run.json", `{"status": "running"}`)
	must.Do(t, fetch(copied))
	write(copied, "run.json", `{"status": "running"}`)
	write(copied, "notes.txt", "mine")
	for into, kept := range map[string]string{own: "run.json", copied: "notes.txt"} {
		must.Fail(t, fetch(into), "is not a copy of s3://traffic/some/prefix/one-shard-0-of-1")
		if _, err := os.Stat(filepath.Join(into, "one-shard-0-of-1", kept)); err != nil {
			t.Error(err)
		}
	}
	must.Do(t, os.Remove(filepath.Join(copied, "one-shard-0-of-1", "notes.txt")))
	if err := fetch(copied); err != nil {
		t.Errorf("a copy alone: %v", err)
	}
}

// run.json is sent last: without it the client has only begun.
func TestAFolderWithoutItsLastFileIsRefused(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	whole, torn := made(t, "one-shard-0-of-2", "requests.jsonl.zst", "run.json"), made(t, "one-shard-1-of-2", "requests.jsonl.zst")
	must.Do(t, store.PutFolder(t.Context(), whole))
	if err := store.PutFolder(t.Context(), torn); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is torn is sent: %v", err)
	}
	must.Refuse(objects.FetchFolders(t.Context(), "s3://traffic/some/prefix/one-*", t.TempDir()))(t, "one-shard-1-of-2 has no run.json", "wait for it")
}

// While a client sends, its folder goes into the bucket again and again; what was fetched then is fetched anew once it has ended.
func TestAFolderIsKeptWhileItGrows(t *testing.T) {
	server := objectstest.New(t)
	store := at(t, server)
	folder := made(t, "one-shard-0-of-1", "plan.jsonl.zst")
	write := func(name, content string) {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	into := filepath.Join(t.TempDir(), "runs")
	fetched := func() string {
		if _, err := objects.FetchFolders(t.Context(), "s3://traffic/some/prefix/one-*", into); err != nil {
			return ""
		}
		content := must.Get(os.ReadFile(filepath.Join(into, "one-shard-0-of-1", "requests.jsonl.zst")))(t)
		return string(content)
	}
	stop := store.KeepFolder(t.Context(), folder, 12*time.Millisecond)
	write("requests.jsonl.zst", "one")
	write("run.json", `{"status": "running"}`)
	for _, want := range []string{"one", "two"} {
		write("requests.jsonl.zst", want)
		for range 1000 {
			if fetched() == want {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got := fetched(); got != want {
			t.Errorf("while it runs: got %q, want %q", got, want)
		}
	}
	stop()
	write("run.json", `{"status": "done"}`)
	must.Do(t, store.PutFolder(t.Context(), folder))
	fetched()
	write("requests.jsonl.zst", "three")
	must.Do(t, store.PutFolder(t.Context(), folder))
	if got := fetched(); got != "two" {
		t.Errorf("one that has ended was fetched again: %q", got)
	}
}
