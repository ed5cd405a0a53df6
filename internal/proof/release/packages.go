package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// inRPM is where distributions of .rpm keep a file: their zsh does not look into the folder of Debian's.
func inRPM(name string) string {
	return strings.Replace(name, "share/zsh/vendor-completions/", "share/zsh/site-functions/", 1)
}

// packages makes .deb and .rpm. They ask for nothing where the program is static, else for the C library, which a package
// manager then names where it is too old.
func (r *release) packages(arch string) error {
	installed, err := r.installed(arch)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "tidemark-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	date := r.date.Format(time.RFC3339)
	var config bytes.Buffer
	fmt.Fprintf(&config, `name: tidemark
arch: %s
platform: linux
version: %s
section: utils
priority: optional
maintainer: Tidemark <tidemark@localhost>
description: replays LLM traffic and compares TPOT with what memory bandwidth allows
license: Apache-2.0
mtime: %s
rpm: {buildhost: localhost, compression: "gzip:9"}
contents:
`, arch, r.version, date)
	for i, e := range installed {
		from := filepath.Join(folder, fmt.Sprint(i))
		if err := os.WriteFile(from, e.content, e.mode); err != nil {
			return err
		}
		add := func(name, packager string) {
			fmt.Fprintf(&config, "  - {src: %q, dst: /%s, packager: %q, file_info: {mode: 0%o, mtime: %s}}\n", from, name, packager, e.mode, date)
		}
		add(e.name, "deb")
		add(inRPM(e.name), "rpm")
	}
	libraries, glibc, err := r.needs(arch)
	if err != nil {
		return err
	}
	if len(libraries) > 0 {
		fmt.Fprintf(&config, "overrides:\n  deb: {depends: [\"libc6 (>= %[1]s)\"]}\n  rpm: {depends: [\"libc.so.6(GLIBC_%[1]s)(64bit)\"]}\n", glibc)
	}
	path := filepath.Join(folder, "nfpm.yaml")
	if err := os.WriteFile(path, config.Bytes(), 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		cmd := exec.Command(filepath.Join(r.cache, "nfpm", "nfpm"), "package", "--config", path, "--packager", kind, "--target", r.path(r.name(arch, "."+kind)))
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, out)
		}
	}
	return nil
}
