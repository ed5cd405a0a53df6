package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// image writes one file that is both an OCI layout in an archive (podman, skopeo, crane, containerd) and what "docker load"
// takes. Its one layer has the program, a folder for data that anybody may write, and /tmp; for arm64 also the C library of
// Debian's cross compiler. The program has zone files and certificates in it.
func (r *release) image(arch string) error {
	program, err := os.ReadFile(r.binary(arch))
	if err != nil {
		return err
	}
	installed, err := r.installed(arch)
	if err != nil {
		return err
	}
	entries := []entry{
		{name: "data/", mode: 0o777 | fs.ModeSticky}, {name: "tmp/", mode: 0o777 | fs.ModeSticky},
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}, {"usr/bin/tidemark", 0o755, program},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755}, {name: "usr/share/doc/tidemark/", mode: 0o755},
	}
	for _, e := range installed[1:3] { // the licences
		entries = append(entries, e)
	}
	libraries, _, err := r.needs(arch)
	if err != nil {
		return err
	}
	if len(libraries) > 0 {
		entries = append(entries, entry{name: "lib/", mode: 0o755}, entry{name: "lib/aarch64-linux-gnu/", mode: 0o755})
	}
	for _, name := range libraries {
		content, err := os.ReadFile(filepath.Join(r.cache, "aarch64-cross/usr/aarch64-linux-gnu/lib", name))
		if err != nil {
			return err
		}
		entries = append(entries, entry{"lib/aarch64-linux-gnu/" + name, 0o755, content})
	}
	if len(libraries) > 0 {
		const linker = "ld-linux-aarch64.so.1"
		content, err := os.ReadFile(filepath.Join(r.cache, "aarch64-cross/usr/aarch64-linux-gnu/lib", linker))
		if err != nil {
			return err
		}
		entries = append(entries, entry{"lib/" + linker, 0o755, content})
	}
	plain, err := tarOf(entries, r.date)
	if err != nil {
		return err
	}
	layer, err := zipped(plain)
	if err != nil {
		return err
	}
	created := r.date.Format("2006-01-02T15:04:05Z")
	config := toJSON(map[string]any{
		"architecture": arch, "os": "linux", "created": created,
		"config": map[string]any{
			"User": "65532:65532", "WorkingDir": "/data", "Entrypoint": []string{"/usr/bin/tidemark"}, "Env": []string{"PATH=/usr/bin", "HOME=/data", "XDG_CACHE_HOME=/tmp"},
			"Labels": map[string]string{"org.opencontainers.image.title": "tidemark", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(plain)}},
		"history": []any{map[string]any{"created": created, "created_by": "tidemark release"}},
	})
	describe := func(kind string, content []byte) map[string]any {
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + sum(content), "size": len(content)}
	}
	manifest := toJSON(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": describe("config.v1+json", config), "layers": []any{describe("layer.v1.tar+gzip", layer)},
	})
	named := describe("manifest.v1+json", manifest)
	named["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.version}
	named["platform"] = map[string]string{"architecture": arch, "os": "linux"}
	blob := func(content []byte) entry { return entry{"blobs/sha256/" + sum(content), 0o644, content} }
	archive, err := tarOf([]entry{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, toJSON(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []any{named}})},
		{"manifest.json", 0o644, toJSON([]any{map[string]any{
			"Config": "blobs/sha256/" + sum(config), "RepoTags": []string{"tidemark:" + r.version}, "Layers": []string{"blobs/sha256/" + sum(layer)},
		}})},
		blob(config), blob(manifest), blob(layer),
	}, r.date)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(r.name(arch, "_image.tar")), archive, 0o644)
}

func sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// toJSON sorts the keys, so that the same image has the same digest.
func toJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // of maps, lists and texts
	}
	return text
}
