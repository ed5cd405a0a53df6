package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildFlags say how, for every target. netgo and osusergo keep to Go's own resolver and list of users: those of a static
// C library would need its shared one.
var buildFlags = []string{"-tags", "duckdb_arrow netgo osusergo", "-trimpath", "-buildvcs=false"}

// environment is that of the Go commands for a target.
func (r *release) environment(arch string) []string {
	list := append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=1", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "LC_ALL=C", "SOURCE_DATE_EPOCH=")
	if arch == "arm64" {
		cross := filepath.Join(r.cache, "aarch64-cross", "bin", "aarch64-linux-gnu-")
		list = append(list, "CC="+cross+"gcc", "CXX="+cross+"g++")
	}
	return list
}

// howStatic is what the linker is told. On amd64 the program needs nothing of the system. On arm64 the static C library does
// not fit beside DuckDB: it is compiled for fewer than 4,096 global addresses (-fpic: "relocation truncated to fit:
// R_AARCH64_LD64_GOTPAGE_LO15"), so the program takes the system's, and has the C++ library in it.
var howStatic = map[string]string{"amd64": "-static", "arm64": "-static-libgcc"}

// build makes the binary in a folder of its own. The linker's warnings about a static C library are about what the
// program never calls: DuckDB's loading of extensions, its HTTP client, and "~" in a path.
func (r *release) build(arch string) error {
	ldflags := "-s -w -buildid= -X tidemark/internal/cli/kit.Version=" + r.version + " -linkmode=external -extldflags=" + howStatic[arch]
	arguments := append([]string{"build"}, buildFlags...)
	cmd := exec.Command("go", append(arguments, "-ldflags", ldflags, "-o", r.binary(arch), "./cmd/tidemark")...)
	cmd.Env = r.environment(arch)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = os.Stdout, &said
	err := cmd.Run()
	for line := range strings.Lines(said.String()) {
		if err != nil || !isStaticWarning(line) {
			os.Stderr.WriteString(line)
		}
	}
	return err
}

func isStaticWarning(line string) bool {
	return strings.Contains(line, "in statically linked applications requires at runtime") || strings.Contains(line, ": in function `") || strings.HasPrefix(line, "# tidemark/")
}

// needs are the shared libraries of a program, none if it is static, and the oldest C library that has all that it calls.
func (r *release) needs(arch string) (libraries []string, glibc string, err error) {
	file, err := elf.Open(r.binary(arch))
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	if libraries, err = file.ImportedLibraries(); err != nil || len(libraries) == 0 {
		return nil, "", err
	}
	symbols, err := file.ImportedSymbols()
	newest := 0
	for _, symbol := range symbols {
		var minor int
		if _, scanErr := fmt.Sscanf(symbol.Version, "GLIBC_2.%d", &minor); scanErr == nil {
			newest = max(newest, minor)
		}
	}
	return libraries, fmt.Sprintf("2.%d", newest), err
}

func (r *release) binary(arch string) string {
	return filepath.Join(r.output, "linux_"+arch, "tidemark")
}
