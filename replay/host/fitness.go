// Whether a machine is fit to send an hour of load. What can be read at once is read; how late the machine is, a
// short rehearsal over loopback shows (Measure). The bounds are those that a run is judged by.

package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Finding is one thing that was looked at before an hour of load.
type Finding struct {
	Of     string // machine, server, prometheus or warehouse
	What   string // was looked at
	Level  Level
	Answer string
	Todo   string // one sentence; empty where all is well
}

// Level is how much a finding matters.
type Level string

const (
	Good  Level = "ok"
	Note  Level = "note"  // worth knowing; an hour of load is not spoiled by it
	Fault Level = "fault" // an hour of load would be wasted
)

// The bounds of a run, unless it is given others: p99 of the lateness, and the longest that the client stands still.
const (
	MostLateness = 10 * time.Millisecond
	MostStall    = 250 * time.Millisecond
)

const (
	fewestFiles = 1024 // each request in flight needs one
	leastFree   = 1e9  // bytes: a full disk ends a run
	stepsFrom   = 10 * time.Millisecond
	mostOthers  = 0.5 // of the cores
)

// Fitness is what a machine is, and does. What is zero is not known.
type Fitness struct {
	Cores     float64
	Governors []string // of its CPUs, each once
	Clock     Clock    // known by the kernel, or by nothing: then nobody keeps it
	OpenFiles float64  // most that this process may have
	Folder    string   // where runs are kept, and what is free there
	FreeBytes float64

	Late      *Quantiles // over loopback, seconds behind the due times; nil: not measured
	WallStep  time.Duration
	OthersCPU *float64 // share of its cores that other processes had meanwhile
}

// Examine looks at this machine, and over loopback for so long; not at all for 0. folder need not exist yet.
func Examine(ctx context.Context, folder string, length time.Duration) (Fitness, error) {
	f := Fitness{Cores: usableCores(), OpenFiles: fileLimit(), Folder: folder, FreeBytes: freeBytes(folder), Clock: Clock{KnownBy: ByNothing}}
	if clock, isKept := kernelClock(); isKept {
		f.Clock = clock
	}
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is right
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Governors = append(f.Governors, strings.TrimSpace(string(text)))
		}
	}
	slices.Sort(f.Governors)
	f.Governors = slices.Compact(f.Governors)
	if length == 0 {
		return f, nil
	}
	return f, f.measure(ctx, length)
}

// measure sends a byte over loopback each two milliseconds for so long, and finds out how late each arrives.
func (f *Fitness) measure(ctx context.Context, length time.Duration) error {
	const every = 2 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	out, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := listener.Accept()
	if err != nil {
		return err
	}
	defer in.Close()
	sleep, release := NewSleep()
	defer release()
	var monitor Monitor
	began := time.Now()
	monitor.Start(ReadState(), 0, began)
	arrived := make(chan []float64, 1)
	go func() {
		var late []float64
		for one := make([]byte, 1); ; {
			if _, err := in.Read(one); err != nil {
				arrived <- late
				return
			}
			late = append(late, (time.Since(began) - time.Duration(len(late)+1)*every).Seconds())
		}
	}()
	for due := every; due <= length; due += every {
		if !sleep(ctx, due-time.Since(began)) {
			return ctx.Err()
		}
		if _, err := out.Write([]byte{0}); err != nil {
			return err
		}
	}
	out.Close()
	late := <-arrived
	slices.Sort(late)
	quantiles := QuantilesOf(late)
	f.Late = &quantiles
	monitor.Sample(ReadState(), time.Since(began), time.Now())
	done := monitor.Certificate()
	f.WallStep, f.OthersCPU = time.Duration(done.WallStepS*float64(time.Second)), done.OthersCPURatio
	return nil
}

// Findings judge the machine.
func (f Fitness) Findings() []Finding {
	findings := []Finding{f.cores(), f.governor(), f.clock(), f.files(), f.disk()}
	if f.Late != nil {
		findings = append(findings, f.lateness())
	}
	for i := range findings {
		findings[i].Of = "machine"
	}
	return findings
}

func (f Fitness) cores() Finding {
	found := Finding{What: "cores", Level: Good, Answer: fmt.Sprintf("%.3g that this process may use", f.Cores)}
	switch {
	case f.Cores < 1:
		found.Level, found.Todo = Fault, "give the client a core of its own: with less it sends late and reads late"
	case f.Cores < 2:
		found.Level, found.Todo = Note, "give the client two cores: sending and reading take turns on one"
	}
	return found
}

func (f Fitness) governor() Finding {
	switch {
	case len(f.Governors) == 0:
		return Finding{What: "CPU governor", Level: Good, Answer: "this machine has none, or does not say"}
	case slices.Contains(f.Governors, "powersave") || slices.Contains(f.Governors, "conservative"):
		return Finding{What: "CPU governor", Level: Note, Answer: strings.Join(f.Governors, ", "),
			Todo: "set it to performance (cpupower frequency-set -g performance): a core that slows down between requests sends late"}
	}
	return Finding{What: "CPU governor", Level: Good, Answer: strings.Join(f.Governors, ", ")}
}

func (f Fitness) clock() Finding {
	const keep = "have chrony or another keep the clock: several clients start by it, and server logs are joined by it"
	switch {
	case f.WallStep >= stepsFrom:
		return Finding{What: "clock", Level: Fault, Answer: fmt.Sprintf("the wall clock stepped by %v while it was looked at", f.WallStep.Round(time.Millisecond)),
			Todo: "find out what sets it in steps (two that keep it, a virtual machine that was paused), and let one slew it"}
	case f.Clock.KnownBy == ByNothing && runtime.GOOS != "linux":
		return Finding{What: "clock", Level: Good, Answer: "whether it is kept is not known here"}
	case f.Clock.KnownBy == ByNothing:
		return Finding{What: "clock", Level: Note, Answer: "the kernel says that it is not synchronised", Todo: keep}
	case !f.Clock.IsWithin(MostLateness):
		return Finding{What: "clock", Level: Note, Answer: f.Clock.String(), Todo: keep}
	}
	return Finding{What: "clock", Level: Good, Answer: "synchronised; " + f.Clock.String()}
}

func (f Fitness) files() Finding {
	found := Finding{What: "open files", Level: Good, Answer: fmt.Sprintf("%.0f at most", f.OpenFiles)}
	switch {
	case f.OpenFiles == 0:
		found.Answer = "their limit is not known"
	case f.OpenFiles < fewestFiles:
		found.Level, found.Todo = Fault, fmt.Sprintf("raise the limit (ulimit -Hn, LimitNOFILE): each request in flight needs one, and %d are few", fewestFiles)
	}
	return found
}

func (f Fitness) disk() Finding {
	found := Finding{What: "disk", Level: Good, Answer: fmt.Sprintf("%.3g GB free for %s", f.FreeBytes/1e9, f.Folder)}
	switch {
	case f.FreeBytes < 0:
		found.Answer = "what is free is not known"
	case f.FreeBytes < leastFree:
		found.Level, found.Todo = Fault, "make room or keep runs elsewhere (--runs DIR): a full disk ends a run, and 1 GB is little"
	}
	return found
}

func (f Fitness) lateness() Finding {
	found := Finding{What: "lateness", Level: Good, Answer: fmt.Sprintf("over loopback p99 %.2g ms, the latest %.2g ms", 1e3*f.Late.P99, 1e3*f.Late.Max)}
	if f.OthersCPU != nil {
		found.Answer += fmt.Sprintf("; others had %.0f %% of the cores", 100**f.OthersCPU)
	}
	if f.OthersCPU != nil && *f.OthersCPU >= mostOthers {
		found.Level, found.Todo = Note, "stop what else runs here, or give the client cores of its own: a load that keeps it busy would be late"
	}
	if f.Late.P99 > MostLateness.Seconds() || f.Late.Max > MostStall.Seconds() {
		found.Level, found.Todo = Fault, fmt.Sprintf("stop what else runs here: with a p99 above %v, or %v of standing still, a run is invalid", MostLateness, MostStall)
	}
	return found
}
