package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one that the program contains.
type module struct {
	Path, Version, Dir, Sum string
	licence                 string // as SPDX names it
	texts                   []string
}

// contents writes the licences, the list of components, the completions and the manual page.
func (r *release) contents(arch string) error {
	modules, err := r.modules(arch)
	if err != nil {
		return err
	}
	for i := range modules {
		if err := modules[i].readLicence(); err != nil {
			return err
		}
	}
	third, err := thirdParty(modules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path("THIRD_PARTY.txt"), third, 0o644); err != nil {
		return err
	}
	list, err := json.MarshalIndent(r.components(modules), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path("tidemark_"+r.version+".cdx.json"), append(list, '\n'), 0o644); err != nil {
		return err
	}
	for name, words := range map[string][]string{"tidemark.1": {"manual"}, "tidemark.bash": {"completion", "bash"}, "_tidemark": {"completion", "zsh"}, "tidemark.fish": {"completion", "fish"}} {
		text, err := exec.Command(r.binary(arch), words...).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(r.path(name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// modules are those of which a package is linked, without the tests' and without our own.
func (r *release) modules(arch string) (list []module, err error) {
	cmd := exec.Command("go", append(append([]string{"list", "-deps", "-json=Module"}, buildFlags...), "./cmd/tidemark")...)
	cmd.Env = r.environment(arch)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct{ Module *module }
		if err := decoder.Decode(&pkg); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if m := pkg.Module; m != nil && m.Version != "" && !seen[m.Path] {
			seen[m.Path] = true
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([.-].*)?$`)

// readLicence wants every module to say under which licence it may be used. Where it lies in a folder of its repository,
// it may say so in the module above.
func (m *module) readLicence() error {
	for dir := m.Dir; m.licence == "" && len(dir) > len("/pkg/mod"); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !licenceFile.MatchString(entry.Name()) || entry.IsDir() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			m.texts = append(m.texts, strings.TrimSpace(string(text)))
			if m.licence == "" {
				m.licence = spdx(string(text))
			}
		}
		if !strings.Contains(filepath.Dir(dir), "@") && len(m.texts) > 0 {
			break
		}
		if !strings.Contains(dir, "@") {
			break
		}
	}
	if m.licence == "" {
		return fmt.Errorf("%s %s has no licence that is known here: look at %s, and see whether it may be passed on", m.Path, m.Version, m.Dir)
	}
	return nil
}

// spdx recognises the licences that are in use here by a sentence of each.
func spdx(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, ">", " ")), " ")
	for _, each := range []struct{ sentence, name string }{
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
		{"Neither the name of", "BSD-3-Clause"},
		{"nor the names of its contributors may be used", "BSD-3-Clause"},
		{"Redistributions in binary form must reproduce the above copyright notice", "BSD-2-Clause"},
		{"Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"},
		{"CC0 1.0 Universal", "CC0-1.0"},
	} {
		if strings.Contains(text, each.sentence) {
			return each.name
		}
	}
	return ""
}

// thirdParty is one text with every licence, each text once.
func thirdParty(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Tidemark contains the following, under the licences that stand below.\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s (%s)\n", m.Path, m.Version, m.licence)
	}
	b.WriteString("Apache ECharts 6, with parts of d3 (Apache-2.0, BSD-3-Clause)\nDuckDB 1.5, linked from github.com/duckdb/duckdb-go-bindings (MIT)\n")
	b.WriteString("the GNU C library (LGPL-2.1-or-later) and the GNU C++ library (GPL-3.0 with the GCC Runtime Library Exception), linked statically;\n")
	b.WriteString("the source archive of the release is what is needed to link the program with other versions of them\n")
	seen := map[string]bool{}
	write := func(of, text string) {
		if !seen[text] {
			seen[text] = true
			fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), of, text)
		}
	}
	for _, m := range modules {
		for _, text := range m.texts {
			write(m.Path, text)
		}
	}
	var errs []error
	for _, name := range []string{"LICENSE", "LICENSE-d3", "NOTICE"} {
		text, err := os.ReadFile(filepath.Join("internal/serve/plot/echarts", name))
		errs = append(errs, err)
		write("Apache ECharts: "+name, strings.TrimSpace(string(text)))
	}
	for _, path := range []string{"doc/libc6/copyright", "doc/libgcc-s1/copyright", "common-licenses/LGPL-2.1", "common-licenses/GPL-3"} {
		text, err := os.ReadFile(filepath.Join("/usr/share", path)) // Debian's, as its compiler is
		errs = append(errs, err)
		write("The GNU C and C++ libraries: "+filepath.Base(path), strings.TrimSpace(string(text)))
	}
	return b.Bytes(), errors.Join(errs...)
}

// firstLine is what a program says, for the version of a library.
func firstLine(words ...string) string {
	out, err := exec.Command(words[0], words[1:]...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "glibc ")
}

// components is a CycloneDX 1.6 document. Its number is made of its content, so that it is the same each time.
func (r *release) components(modules []module) map[string]any {
	root := "pkg:generic/tidemark@" + r.version
	list, needs := []any{}, []string{}
	add := func(kind, name, version, licence, url string) {
		list = append(list, map[string]any{
			"type": kind, "bom-ref": url, "name": name, "version": version, "purl": url,
			"licenses": []any{map[string]any{"license": map[string]any{"id": licence}}},
		})
		needs = append(needs, url)
	}
	for _, m := range modules {
		add("library", m.Path, m.Version, m.licence, "pkg:golang/"+m.Path+"@"+m.Version)
	}
	add("library", "duckdb", "1.5.5", "MIT", "pkg:github/duckdb/duckdb@v1.5.5")
	add("library", "echarts", "6.1.0", "Apache-2.0", "pkg:npm/echarts@6.1.0")
	add("library", "glibc", firstLine("getconf", "GNU_LIBC_VERSION"), "LGPL-2.1-or-later", "pkg:generic/glibc")
	add("library", "libstdc++", firstLine("gcc", "-dumpfullversion"), "GPL-3.0-or-later", "pkg:generic/libstdc%2B%2B") // with the runtime exception
	sum := sha1.Sum([]byte(strings.Join(needs, "\n") + root))
	id := fmt.Sprintf("%x", sum[:16])
	return map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"serialNumber": "urn:uuid:" + id[:8] + "-" + id[8:12] + "-5" + id[13:16] + "-a" + id[17:20] + "-" + id[20:32],
		"metadata": map[string]any{
			"timestamp": r.date.Format("2006-01-02T15:04:05Z"),
			"component": map[string]any{"type": "application", "bom-ref": root, "name": "tidemark", "version": r.version, "licenses": []any{map[string]any{"license": map[string]any{"id": "Apache-2.0"}}}},
		},
		"components":   list,
		"dependencies": []any{map[string]any{"ref": root, "dependsOn": needs}},
	}
}
