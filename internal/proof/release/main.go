package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is one run.
type release struct {
	version string
	output  string
	cache   string // where setup.sh put nfpm and the cross compiler
	date    time.Time
}

// targets are what is built. macOS is not among them: linking needs Apple's SDK, which may not be passed on.
var targets = []string{"amd64", "arm64"}

func main() {
	r := release{}
	var only string
	flag.StringVar(&r.version, "version", "", "of the release")
	flag.StringVar(&r.output, "output", "dist", "folder")
	flag.StringVar(&r.cache, "cache", "", "folder with the tools")
	flag.StringVar(&only, "only", "", "one architecture, for tests")
	flag.Parse()
	if only != "" {
		targets = []string{only}
	}
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "release: error:", err)
		os.Exit(1)
	}
}

func (r *release) make() (err error) {
	r.version = strings.TrimPrefix(r.version, "v")
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$`).MatchString(r.version) {
		return fmt.Errorf("%q is not the version of a release: make release VERSION=1.2.3", r.version)
	}
	if r.date, err = sourceDate(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.output); err != nil {
		return err
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return err
	}
	for i, arch := range targets {
		fmt.Println("release: building for linux", arch)
		if err := r.build(arch); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		if i == 0 { // the first one runs on this machine
			if err := r.contents(arch); err != nil {
				return err
			}
		}
		for what, do := range map[string]func(string) error{"archive": r.archive, "packages": r.packages, "image": r.image} {
			if err := do(arch); err != nil {
				return fmt.Errorf("%s for %s: %w", what, arch, err)
			}
		}
	}
	if isClone() {
		if err := r.source(); err != nil {
			return fmt.Errorf("source archive: %w", err)
		}
	}
	return r.checksums()
}

// sourceDate is $SOURCE_DATE_EPOCH, or when the last commit was made; no file of a release has another time. The source
// archive, which is no clone, has it as the time of its files.
func sourceDate() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" && !isClone() {
		info, err := os.Stat("go.mod")
		if err != nil {
			return time.Time{}, err
		}
		return info.ModTime().UTC(), nil
	}
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("git log: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

func isClone() bool {
	_, err := os.Stat(".git")
	return err == nil
}

// name is that of a file of the release.
func (r *release) name(arch, ending string) string {
	return fmt.Sprintf("tidemark_%s_linux_%s%s", r.version, arch, ending)
}

func (r *release) path(name string) string { return filepath.Join(r.output, name) }

// checksums writes what sha256sum --check reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(r.path(entry.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), entry.Name()))
	}
	slices.Sort(lines)
	fmt.Print(strings.Join(lines, ""))
	return os.WriteFile(r.path("SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
