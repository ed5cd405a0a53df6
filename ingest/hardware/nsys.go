package hardware

import (
	"bytes"
	"math"
	"regexp"
	"strings"

	"tidemark/ingest/read"
)

// Nsys reads kernel summaries of Nsight Systems as CSV: nsys stats --report
// cuda_gpu_kern_sum (gpukernsum before 2023), also with memory copies
// (cuda_gpu_sum, cuda_gpu_mem_time_sum). What nsys prints before and between the
// tables is passed over; tables of other things are not read.
var Nsys = read.Format{
	Name:  "nsys",
	Sees:  seesNsys,
	Read:  readNsys,
	Wants: `the columns "Time (%)","Total Time (ns)","Instances", ... ,"Name" of cuda_gpu_kern_sum`,
	Kind:  "kernels",
}

func seesNsys(h *read.Head) string {
	for number, line := range bytes.SplitN(h.Data[:min(len(h.Data), 1<<20)], read.Newline, 200) {
		if number < 199 && nsysTable(line) != nil {
			return "nsys stats: kernels with their total time"
		}
	}
	return ""
}

// nsysColumns are where a table has what; -1 for a column that it lacks.
type nsysColumns struct {
	total, instances, mean, median, least, most, stddev, name int
	width                                                     int
	perSecond                                                 float64 // units of time in a second
}

var nsysTotal = regexp.MustCompile(`^total time \((ns|us|ms|s)\)$`)

var perSecond = map[string]float64{"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1}

// nsysTable reads the header of a table of kernels or copies; nil where the line is
// not one. A table of API calls counts them in "Num Calls" and is not recognised.
func nsysTable(line []byte) *nsysColumns {
	if !bytes.Contains(bytes.ToLower(line), []byte("total time (")) {
		return nil
	}
	names, reason := read.CSVFields(bytes.TrimSpace(line))
	if reason != "" {
		return nil
	}
	c := &nsysColumns{-1, -1, -1, -1, -1, -1, -1, -1, len(names), 0}
	for i, name := range names {
		name = strings.ToLower(name)
		if found := nsysTotal.FindStringSubmatch(name); found != nil {
			c.total, c.perSecond = i, perSecond[found[1]]
			continue
		}
		base, _, _ := strings.Cut(name, " (")
		switch base {
		case "instances", "count", "operations":
			c.instances = i
		case "avg", "average":
			c.mean = i
		case "med", "median":
			c.median = i
		case "min", "minimum":
			c.least = i
		case "max", "maximum":
			c.most = i
		case "stddev":
			c.stddev = i
		case "name", "operation", "kernel name":
			if c.name < 0 || base != "operation" {
				c.name = i
			}
		}
	}
	if c.total < 0 || c.instances < 0 || c.name < 0 {
		return nil
	}
	return c
}

// readNsys reads every table of kernels in the file. A table ends at a blank line
// or at words.
func readNsys(d *read.Document, out *read.Rows) error {
	var table *nsysColumns
	seq := int32(-1)
	last := int64(0) // line before, to see where a table ends
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		isNext := number == last+1
		last = number
		if next := nsysTable(line); next != nil {
			table = next
			return nil, nil
		}
		if table == nil {
			return nil, nil
		}
		first, _ := read.FirstWord(bytes.TrimLeft(line, "\" \t"))
		if !isNext || len(first) == 0 || first[0] < '0' || first[0] > '9' {
			table = nil // a blank line or words: another report begins
			return nil, nil
		}
		seq++
		row, problem := table.kernel(seq, line)
		if problem != nil {
			return problem, nil
		}
		return nil, out.Add(row)
	})
}

// kernel reads one row. Names of C++ templates have commas, and older versions do
// not quote them.
func (c *nsysColumns) kernel(seq int32, line []byte) (row kernelRow, problem *read.Reject) {
	fields, reason := read.CSVFields(line)
	if reason != "" {
		return row, &read.Reject{Reason: reason}
	}
	if len(fields) > c.width && c.name == c.width-1 { // a name with commas and without quotes
		fields = append(fields[:c.name:c.name], strings.Join(fields[c.name:], ", "))
	}
	if len(fields) != c.width {
		return row, &read.Reject{Reason: read.Missing}
	}
	row = kernelRow{Seq: seq, Name: kernelName(fields[c.name])}
	take := func(i int, factor float64) *float64 {
		if i < 0 || fields[i] == "" || problem != nil {
			return nil
		}
		value, reason := read.MetricValue([]byte(strings.ReplaceAll(fields[i], ",", "")))
		switch {
		case reason != "":
		case math.IsNaN(value) || math.IsInf(value, 0):
			reason = read.NotFinite
		case value < 0:
			reason = read.Negative
		}
		if reason != "" {
			problem = &read.Reject{Reason: reason}
		}
		return new(value / factor)
	}
	total, instances := take(c.total, c.perSecond), take(c.instances, 1)
	row.MeanS, row.MedianS = take(c.mean, c.perSecond), take(c.median, c.perSecond)
	row.MinS, row.MaxS, row.StddevS = take(c.least, c.perSecond), take(c.most, c.perSecond), take(c.stddev, c.perSecond)
	switch {
	case problem != nil:
	case total == nil || row.Name == "":
		problem = &read.Reject{Reason: read.Missing}
	case instances != nil && *instances > read.MaxTokens:
		problem = &read.Reject{Reason: read.TooLarge}
	default:
		row.TotalS = *total
		if instances != nil {
			row.Instances = new(int64(*instances))
		}
	}
	return row, problem
}

// maxKernelName is enough to tell kernels apart; templates make names of 10 kB.
const maxKernelName = 2048

func kernelName(name string) string {
	if len(name) > maxKernelName {
		name = name[:maxKernelName]
	}
	return strings.ToValidUTF8(name, "")
}
