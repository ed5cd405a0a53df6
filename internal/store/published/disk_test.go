//go:build duckdb_arrow && linux

package published_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// onSmallDisk runs this test again in a process that has a small disk of its own at the folder, and reports whether it is
// that process. A mount is seen by that process alone, which needs no rights where the system lets users have namespaces.
func onSmallDisk(t *testing.T, folder, size string) bool {
	t.Helper()
	const inside = "TIDEMARK_TEST_SMALL_DISK"
	if path := os.Getenv(inside); path != "" {
		must.Do(t, os.Mkdir(folder, 0o700))
		if err := syscall.Mount("none", folder, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("no disk can be mounted here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
		return true
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), inside+"=yes")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	said, err := child.CombinedOutput()
	if _, isExit := err.(*exec.ExitError); err != nil && !isExit {
		t.Skipf("no process can have a disk of its own here: %v", err)
	}
	t.Logf("%s", said)
	must.Do(t, err)
	if strings.Contains(string(said), "--- SKIP") {
		t.SkipNow()
	}
	return false
}

// The disk is full while a spare snapshot is brought up to date: the old snapshot stays, the error says so, the warehouse
// closes without one, and with room again all is published.
func TestAFullDiskLeavesTheOldSnapshot(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "published")
	if !onSmallDisk(t, folder, "64m") {
		return
	}
	path := warehousetest.File(t)
	change(t, path, folder, namedTrace("1"))
	change(t, path, folder, namedTrace("2"))
	filler := filepath.Join(folder, "lake", "filler")
	runs := "day1 day2"
	for i, left := range []int64{0, 64 << 10, 400 << 10} { // for no part; for parts; for some blocks of a snapshot
		fill(t, filler, left)
		w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
		warehousetest.Put(t, w, namedTrace(fmt.Sprint(3+i)))
		_, done, err := published.Publish(t.Context(), w, folder, "test")
		if closeErr := w.Close(); closeErr != nil {
			t.Errorf("with %d bytes left: the warehouse does not close: %v", left, closeErr)
		}
		done()
		if left == 0 && (err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left on device")) {
			t.Errorf("with no byte left: got %v, want that there is no space", err)
		}
		if err == nil { // the spare file made room for a new copy
			runs = namesOf(t, path)
		}
		if got := namesOf(t, published.Snapshot(folder)); got != runs {
			t.Errorf("with %d bytes left: the snapshot has %q, want %q (%v)", left, got, runs, err)
		}
		if err := os.Remove(filler); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	change(t, path, folder)
	same(t, path, folder)
}

func namesOf(t *testing.T, path string) string {
	t.Helper()
	w := opened(t, path)
	defer w.Close()
	return text(t, w.DB(), "select string_agg(name, ' ' order by name) from raw.sources")
}

// fill leaves so many bytes of a disk.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	var disk syscall.Statfs_t
	must.Do(t, syscall.Statfs(filepath.Dir(path), &disk))
	file := must.Get(os.Create(path))(t)
	defer file.Close()
	must.Get(file.Write(make([]byte, int64(disk.Bavail)*disk.Bsize-left)))(t)
}
