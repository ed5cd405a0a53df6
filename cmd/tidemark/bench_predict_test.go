package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/proof/must"
)

// usageOf runs the program in a folder of its own and reports its CPU-seconds, user and system, and its peak of memory.
func usageOf(b *testing.B, dir, what string, args ...string) {
	b.Helper()
	command := exec.Command("tidemark", args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("tidemark %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	b.ReportMetric((command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds(), what+"-CPU-s")
	b.ReportMetric(float64(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, what+"-peak-MB")
}

// One question of each kind about one configuration, from the built-in catalogue.
func BenchmarkOneConfiguration(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		usageOf(b, dir, "predict", "predict", "--gpu", "H100", "--catalog-model", "llama-3.1-8b", "--concurrency", "32")
		usageOf(b, dir, "kv", "predict", "kv", "--catalog-model", "llama-3.1-8b")
		usageOf(b, dir, "fit", "predict", "fit", "--gpu", "H100", "--catalog-model", "llama-3.1-8b")
	}
}

// Tables whose rows all differ in a setting of the deployment, so that none shares another's.
func BenchmarkTablesOfPoints(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		for _, rows := range []int{100, 1000, 10_000} {
			var table strings.Builder
			table.WriteString("gpu,model,quantization,max_num_seqs,concurrency,input_len,output_len\n")
			for i := range rows {
				fmt.Fprintf(&table, "H200,llama-3.1-70b,fp8,%d,%d,%d,300\n", 100+i, 1+i%200, 1000+i%37)
			}
			must.Do(b, os.WriteFile(filepath.Join(dir, "points.csv"), []byte(table.String()), 0o644))
			usageOf(b, dir, fmt.Sprint(rows), "predict", "--points", "points.csv", "--csv")
		}
	}
}
