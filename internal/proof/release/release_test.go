//go:build release

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// made is the release that `make test-release` has made.
func made(t *testing.T) *release {
	t.Helper()
	r := &release{version: os.Getenv("RELEASE_VERSION"), output: os.Getenv("RELEASE_FOLDER"), cache: os.Getenv("RELEASE_CACHE")}
	if r.version == "" || r.output == "" || r.cache == "" {
		t.Fatal("RELEASE_VERSION, RELEASE_FOLDER and RELEASE_CACHE are not set: make test-release sets them")
	}
	t.Chdir("../../..")
	archive := unzipped(t, read(t, r.path("tidemark_"+r.version+"_source.tar.gz")))
	first := must.Get(tar.NewReader(archive).Next())(t)
	r.date = first.ModTime.UTC()
	return r
}

func unpack(t *testing.T, archive io.Reader, folder string) {
	t.Helper()
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		if err == io.EOF {
			return
		}
		must.Do(t, err)
		path := filepath.Join(folder, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
			if err == nil {
				err = os.Chmod(path, header.FileInfo().Mode())
			}
		} else {
			var content []byte
			if content, err = io.ReadAll(files); err == nil {
				if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					err = os.WriteFile(path, content, header.FileInfo().Mode())
				}
			}
		}
		must.Do(t, err)
	}
}

func unzipped(t *testing.T, content []byte) io.Reader {
	t.Helper()
	plain := must.Get(gzip.NewReader(bytes.NewReader(content)))(t)
	return plain
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	return content
}

// Whoever unpacks the source archive elsewhere makes the same files, byte for byte. RELEASE_FRESH=1 begins with an empty
// build cache, which takes two minutes of CPU more.
func TestTwoBuildsAreTheSame(t *testing.T) {
	r := made(t)
	folder := t.TempDir()
	unpack(t, unzipped(t, read(t, r.path("tidemark_"+r.version+"_source.tar.gz"))), folder)
	output := must.Get(filepath.Abs(r.output))(t)
	again := *r
	again.output = filepath.Join(t.TempDir(), "again")
	t.Chdir(filepath.Join(folder, "tidemark-"+r.version))
	must.Do(t, os.MkdirAll(again.output, 0o755))
	if os.Getenv("RELEASE_FRESH") != "" {
		t.Setenv("GOCACHE", t.TempDir())
	}
	for _, do := range []func(string) error{again.build, again.contents, again.archive, again.packages, again.image} {
		must.Do(t, do("amd64"))
	}
	compared := 0
	err := filepath.WalkDir(again.output, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		within, err := filepath.Rel(again.output, path)
		if err != nil {
			return err
		}
		first, second := sha256.Sum256(read(t, filepath.Join(output, within))), sha256.Sum256(read(t, path))
		if compared++; first != second {
			t.Errorf("%s: %x the first time, %x the second time", within, first, second)
		} else {
			t.Logf("%x %s", second, within)
		}
		return nil
	})
	if err != nil || compared < 10 {
		t.Errorf("%d files were compared (%v)", compared, err)
	}
}

// The program for amd64 needs no library of the system, that for arm64 the C library alone. They hold nothing for a
// debugger, and no path of the machine that built them.
func TestProgramsAreStatic(t *testing.T) {
	r := made(t)
	home := must.Get(os.UserHomeDir())(t)
	folder := must.Get(os.Getwd())(t)
	for arch, want := range map[string]string{"amd64": "[]", "arm64": "[libm.so.6 libc.so.6]"} {
		file := must.Get(elf.Open(r.binary(arch)))(t)
		libraries, glibc, err := r.needs(arch)
		if err != nil || fmt.Sprint(libraries) != want || file.Section(".debug_info") != nil || file.Section(".symtab") != nil {
			t.Errorf("%s needs %q (%v), or is not stripped", arch, libraries, err)
		}
		if glibc > "2.36" {
			t.Errorf("%s needs a C library of version %s: docs/operate.md says 2.36", arch, glibc)
		}
		if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; file.Machine != want {
			t.Errorf("%s is for %s", arch, file.Machine)
		}
		for _, path := range []string{folder, filepath.Join(home, "go")} {
			if bytes.Contains(read(t, r.binary(arch)), []byte(path)) {
				t.Errorf("%s has the path %s", arch, path)
			}
		}
	}
}

// The program for arm64 runs in an emulator, with the C library of its image: it opens DuckDB and answers.
func TestArm64InAnEmulator(t *testing.T) {
	r := made(t)
	root := t.TempDir()
	unpackImage(t, r.path(r.name("arm64", "_image.tar")), root)
	emulator := must.Get(filepath.Abs(filepath.Join(r.cache, "aarch64-cross/bin/qemu-aarch64-static")))(t)
	here := must.Get(filepath.Abs(r.binary("amd64")))(t)
	programs := map[string][]string{"arm64": {emulator, "-L", root, filepath.Join(root, "usr/bin/tidemark")}, "amd64": {here}}
	trace := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(trace, []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,10,1\n"), 0o600))
	said := map[string]string{}
	for arch, program := range programs {
		folder := t.TempDir()
		for _, words := range [][]string{{"version", "--json"}, {"predict", "kv", "--catalog-model", "llama-3.1-8b", "--tokens", "2048", "--csv"}, {"ingest", trace}, {"sql", "--csv", "from staging.arrivals select source_name, input_tokens"}} {
			cmd := exec.Command(program[0], append(program[1:], words...)...)
			cmd.Dir = folder
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: tidemark %s: %v", arch, strings.Join(words, " "), err)
			}
			if words[0] != "ingest" { // which says how long it took
				said[arch] += string(out)
			}
		}
	}
	if got, want := said["arm64"], strings.Replace(said["amd64"], "linux/amd64", "linux/arm64", 1); got != want || !strings.Contains(got, "t,10") {
		t.Errorf("in the emulator: got\n%s\nwant\n%s", got, want)
	}
}

// Each module of the program is in the list of components, and in the licences.
func TestEveryModuleIsNamed(t *testing.T) {
	r := made(t)
	info := must.Get(buildinfo.ReadFile(r.binary("amd64")))(t)
	licences := string(read(t, r.path("THIRD_PARTY.txt")))
	var list struct {
		BomFormat  string
		Components []struct {
			Purl     string
			Licenses []struct{ License struct{ ID string } }
		}
	}
	if err := json.Unmarshal(read(t, r.path("tidemark_"+r.version+".cdx.json")), &list); err != nil || list.BomFormat != "CycloneDX" {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, c := range list.Components {
		named[c.Purl] = len(c.Licenses) == 1 && c.Licenses[0].License.ID != ""
	}
	for _, m := range info.Deps {
		if !named["pkg:golang/"+m.Path+"@"+m.Version] || !strings.Contains(licences, m.Path+" "+m.Version) {
			t.Errorf("%s %s is in the program, and not in the list or not in the licences", m.Path, m.Version)
		}
	}
	if len(info.Deps) < 20 {
		t.Errorf("the program has %d modules only", len(info.Deps))
	}
}

// The packages ask for nothing, and their program runs.
func TestPackagesInstall(t *testing.T) {
	r := made(t)
	folder := t.TempDir()
	deb := r.path(r.name("amd64", ".deb"))
	if out, err := exec.Command("dpkg-deb", "-x", deb, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if needs, err := exec.Command("dpkg-deb", "--field", deb, "Depends").Output(); err != nil || len(bytes.TrimSpace(needs)) > 0 {
		t.Errorf("the package needs %q (%v)", needs, err)
	}
	for _, path := range []string{"usr/bin/tidemark", "usr/share/man/man1/tidemark.1", "usr/share/bash-completion/completions/tidemark", "usr/share/zsh/vendor-completions/_tidemark",
		"usr/share/fish/vendor_completions.d/tidemark.fish", "usr/share/doc/tidemark/THIRD_PARTY.txt", "usr/share/doc/tidemark/tidemark-rules.yaml"} {
		if info, err := os.Stat(filepath.Join(folder, path)); err != nil || info.Size() == 0 {
			t.Errorf("the package has no %s", path)
		}
	}
	out, err := exec.Command(filepath.Join(folder, "usr/bin/tidemark"), "version", "--json").Output()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("%q", r.version)) {
		t.Errorf("its program says %s (%v)", out, err)
	}
	rpm := read(t, r.path(r.name("amd64", ".rpm")))
	if !bytes.HasPrefix(rpm, []byte{0xed, 0xab, 0xee, 0xdb}) {
		t.Error("the .rpm is no RPM")
	}
	for _, name := range []string{"tidemark", "tidemark.1", "/usr/share/bash-completion/completions/", "/usr/share/zsh/site-functions/", "tidemark.fish", "THIRD_PARTY.txt", "tidemark-rules.yaml"} {
		if !bytes.Contains(rpm, []byte("\x00"+name+"\x00")) { // its header lists folders and names as plain texts
			t.Errorf("the .rpm has no %s", name)
		}
	}
}

// The image is what its digests say, and its program runs in namespaces of its own, with nothing else in sight: it takes a
// trace in, and serves it.
func TestTheImageStarts(t *testing.T) {
	r := made(t)
	image := r.path(r.name("amd64", "_image.tar"))
	if out, err := exec.Command(filepath.Join(r.cache, "crane", "crane"), "validate", "--tarball", image).CombinedOutput(); err != nil {
		t.Errorf("crane validate: %v\n%s", err, out)
	}
	root := t.TempDir()
	config := unpackImage(t, image, root)
	must.Do(t, os.WriteFile(filepath.Join(root, "data/t.csv"), []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,10,1\n"), 0o644))
	// A runtime gives a container /proc, and /dev with the links to descriptors; the rest is the image's.
	inside := func(words ...string) *exec.Cmd {
		script := `mkdir -p "$ROOT/proc" "$ROOT/dev" && mount -t proc proc "$ROOT/proc" && touch "$ROOT/dev/null" && mount --bind /dev/null "$ROOT/dev/null" && ln -sfn /proc/self/fd "$ROOT/dev/fd" && exec chroot "$ROOT" ENTRY "$@"`
		script = strings.Replace(script, "ENTRY", config.Entrypoint[0], 1)
		cmd := exec.Command("unshare", append([]string{"--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"}, words...)...)
		cmd.Env = append(config.Env, "ROOT="+root, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
		cmd.Env = append(cmd.Env, "TIDEMARK_WAREHOUSE=/data/w.duckdb")
		return cmd
	}
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	before := time.Now()
	out, err := inside("version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), r.version) {
		t.Fatalf("got %s (%v)", out, err)
	}
	info := must.Get(os.Stat(image))(t)
	t.Logf("the image has %.1f MB; a first answer, namespaces included, after %s", float64(info.Size())/1e6, time.Since(before).Round(time.Millisecond))
	if out, err := inside("ingest", "/data/t.csv").CombinedOutput(); err != nil {
		t.Fatalf("ingest: %v\n%s", err, out)
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	server := inside("serve", "--no-token", "--port", fmt.Sprint(port))
	var log bytes.Buffer
	server.Stderr = &log
	before = time.Now()
	must.Do(t, server.Start())
	defer func() { _ = server.Process.Signal(syscall.SIGKILL); _ = server.Wait() }()
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 300 {
		if answer, err := http.Get(url + "/healthz"); err == nil {
			answer.Body.Close()
			t.Logf("serve is healthy after %s", time.Since(before).Round(time.Millisecond))
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	request := must.Get(http.NewRequest(http.MethodPost, url+"/v1/sql", strings.NewReader("select name from raw.sources")))(t)
	request.Header.Set("Accept", "text/csv")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%v; serve says %s", err, log.String())
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "name\nt\n" {
		t.Errorf("got %q (%v)", text, err)
	}
}

// imageConfig is how an image is to be started.
type imageConfig struct{ Entrypoint, Env []string }

// unpackImage puts the layers of an image into a folder, and checks the digests on the way.
func unpackImage(t *testing.T, image, root string) imageConfig {
	t.Helper()
	layout := t.TempDir()
	unpack(t, bytes.NewReader(read(t, image)), layout)
	blob := func(digest string, into any) []byte {
		content := read(t, filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1)))
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != digest {
			t.Errorf("%s has the digest %s", digest, got)
		}
		if into != nil {
			must.Do(t, json.Unmarshal(content, into))
		}
		return content
	}
	var index struct{ Manifests []struct{ Digest string } }
	must.Do(t, json.Unmarshal(read(t, filepath.Join(layout, "index.json")), &index))
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	blob(index.Manifests[0].Digest, &manifest)
	var config struct{ Config imageConfig }
	blob(manifest.Config.Digest, &config)
	for _, layer := range manifest.Layers {
		unpack(t, unzipped(t, blob(layer.Digest, nil)), root)
	}
	return config.Config
}

// The licence of each kind is recognised by its text.
func TestLicencesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                      "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person obtaining a copy":     "MIT",
		"> * Redistributions in binary form must reproduce the above\n>   copyright notice": "BSD-2-Clause",
		"All rights reserved.": "",
	} {
		if got := spdx(text); got != want {
			t.Errorf("spdx(%.40q): got %q, want %q", text, got, want)
		}
	}
}
