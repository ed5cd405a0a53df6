package worker

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"
	"golang.org/x/sys/unix"
)

// session is DuckDB in this process with the snapshot open.
type session struct {
	database   mapping.Database
	connection mapping.Connection
	pipe       [2]*os.File                  // DuckDB may write to the second by its name; answers in Parquet come out of the first
	comments   map[string]map[string]string // on columns, by relation
}

// snapshotPath names the open file. DuckDB opens it again by this name, so that no table shows the server's paths.
var snapshotPath = fmt.Sprintf("/dev/fd/%d", SnapshotFile)

// settings close DuckDB to everything but the snapshot. Nothing spills to disk, because a query could fill it. The
// last of them makes all of them final.
func settings(setup Setup, writable string) []string {
	return []string{
		fmt.Sprintf("set memory_limit = '%d KiB'", max(setup.MemoryBytes>>10, 1)),
		fmt.Sprintf("set threads = %d", max(setup.Threads, 1)),
		"set TimeZone = 'UTC'",
		"set temp_directory = ''",
		"set autoinstall_known_extensions = false",
		"set autoload_known_extensions = false",
		"set allow_community_extensions = false",
		"attach '" + snapshotPath + "' as tidemark (read_only)",
		"use tidemark",
		"set allowed_paths = [" + writable + "]",
		"set enable_external_access = false",
		"set lock_configuration = true",
	}
}

// open makes a DuckDB that is empty and attaches the snapshot to it.
func open(setup Setup) (*session, error) {
	s := &session{}
	var err error
	if s.pipe[0], s.pipe[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	var why string
	if mapping.OpenExt("", &s.database, mapping.Config{}, &why) == mapping.StateError {
		return nil, fmt.Errorf("open DuckDB: %s", why)
	}
	if mapping.Connect(s.database, &s.connection) == mapping.StateError {
		return nil, fmt.Errorf("connect to DuckDB")
	}
	for _, setting := range settings(setup, "'"+s.pipePath()+"'") {
		if err := s.run(setting); err != nil {
			return nil, err
		}
	}
	// The first use of every thread reserves address space, which must not count against the query.
	return s, s.run("select count(*) from range(1000000) as numbers (n) where n % 3 = 0")
}

func (s *session) pipePath() string { return fmt.Sprintf("/dev/fd/%d", s.pipe[1].Fd()) }

func (s *session) run(statement string) error {
	var result mapping.Result
	defer mapping.DestroyResult(&result)
	if mapping.Query(s.connection, statement, &result) == mapping.StateError {
		return fmt.Errorf("%s", mapping.ResultError(&result))
	}
	return nil
}

// openForReports opens the snapshot for package reports, which wants a pool of connections.
func openForReports(setup Setup) (*sql.DB, error) {
	db, err := sql.Open("duckdb", snapshotPath+"?access_mode=read_only")
	if err != nil {
		return nil, err
	}
	for _, setting := range settings(setup, "") {
		if strings.HasPrefix(setting, "attach") || strings.HasPrefix(setting, "use") || strings.HasPrefix(setting, "set TimeZone") {
			continue
		}
		if _, err := db.ExecContext(context.Background(), setting); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// limitMemory bounds what the process may map, because memory_limit does not hold for every allocation of DuckDB. What
// is mapped already does not count. Writable memory is the limit that matters; allocators also reserve addresses
// that they never use, so these have more room. The process writes no files and leaves no core dump.
func limitMemory(share int64) error {
	const (
		ownRoom      = 512 << 20 // bytes, for plans, threads and the answer's batches
		reservedRoom = 8 << 30   // bytes
	)
	limits := map[int]int64{unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0}
	if addresses, writable := mappedBytes(); writable > 0 { // else it is no Linux, and memory_limit stands alone
		limits[unix.RLIMIT_DATA] = writable + share + ownRoom
		limits[unix.RLIMIT_AS] = addresses + share + reservedRoom
	}
	for kind, bytes := range limits {
		if err := unix.Setrlimit(kind, &unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}); err != nil {
			return fmt.Errorf("limit the worker: %w", err)
		}
	}
	return nil
}

// mappedBytes is what the process has mapped, in bytes: all addresses, and the private writable ones.
func mappedBytes() (addresses, writable int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmSize":
			addresses = kib << 10
		case name == "VmData":
			writable = kib << 10
		}
	}
	return addresses, writable
}

// limitFiles takes the right to open files and connections away from the whole process, DuckDB and its extensions
// included, but for this many. Open files stay open: a new one would get the lowest free number, which is beyond the limit.
func limitFiles(left int) error {
	lowest, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(lowest)
	limit := uint64(lowest + left)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limit the worker: %w", err)
	}
	return nil
}
