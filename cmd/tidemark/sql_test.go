package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// 700,000 rows of 100 bytes took 300 MB and more: results were held whole.
func TestMemoryDoesNotGrowWithAnAnswer(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("only Linux says how much memory a process has had at most")
	}
	r := inFolder(t)
	for _, form := range []string{"--csv", "--json", "--quiet"} {
		command := exec.Command("measured", "sql", form, "select repeat('x', 100) as text from range(700000)")
		var said strings.Builder
		command.Dir, command.Stderr = r.dir, &said
		if err := command.Run(); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		if most, err := strconv.Atoi(said.String()); err != nil || most > 180e3 {
			t.Errorf("%s: %s kB of memory for 70 MB of text, want less than 180,000; %v", form, said.String(), err)
		}
	}
}

// measured is the program, and says at its end how many kB of memory it had at most.
func measured() {
	code := run(os.Args, os.Stdin, os.Stdout, os.Stderr)
	status, _ := os.ReadFile("/proc/self/status")
	fmt.Fprint(os.Stderr, string(regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1]))
	os.Exit(code)
}
