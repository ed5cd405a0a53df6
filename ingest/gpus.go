package ingest

import (
	"math"
	"strconv"
	"strings"
)

// GPUs and prices of the user's own: CSVs with the columns of seeds.gpus and seeds.prices. A GPU of a name that is
// built in comes in its place.

var _ = register(format{
	name: "gpus",
	sees: func(h *head) string {
		if h.columnsHave("gpu", "memory_bytes", "hbm_bytes_per_s") {
			return "GPUs, with gpu, memory_bytes, hbm_bytes_per_s"
		}
		return ""
	},
	read:  readGPUs,
	wants: "the columns gpu, memory_bytes, hbm_bytes_per_s, bf16_flop_per_s, link (and aliases, fp8_flop_per_s, fp4_flop_per_s)",
	kind:  "gpus",
})

var _ = register(format{
	name: "prices",
	sees: func(h *head) string {
		if h.columnsHave("gpu", "usd_per_gpu_hour") {
			return "prices, with gpu, usd_per_gpu_hour"
		}
		return ""
	},
	read:  readPrices,
	wants: "the columns gpu, usd_per_gpu_hour (and label)",
	kind:  "prices",
})

func readGPUs(d *document, out *rows) error {
	return readCheckedSheet(d, out, func(cells checkedSheet) (Row, *reject) {
		row := gpuRow{
			GPU: cells.word("gpu"), Aliases: orNil(cells.text("aliases")), Link: strings.ToLower(strings.TrimSpace(cells.text("link"))),
			// The least that is believed shows a column in GB, GB/s or TFLOP/s.
			MemoryBytes: cells.number("memory_bytes", 1e9), HBMBytesPerS: cells.number("hbm_bytes_per_s", 1e9), BF16FlopPerS: cells.number("bf16_flop_per_s", 1e11),
			FP8FlopPerS: cells.optional("fp8_flop_per_s", 1e11), FP4FlopPerS: cells.optional("fp4_flop_per_s", 1e11),
		}
		if row.Link != "nvlink" && row.Link != "pcie" {
			cells.wrong("link", notALink)
		}
		return row, cells.problem()
	})
}

func readPrices(d *document, out *rows) error {
	return readCheckedSheet(d, out, func(cells checkedSheet) (Row, *reject) {
		row := priceRow{GPU: cells.word("gpu"), USDPerGPUHour: cells.number("usd_per_gpu_hour", 0), Label: orNil(word(cells.text("label")))}
		return row, cells.problem()
	})
}

// readCheckedSheet makes a row of every line of a small CSV.
func readCheckedSheet(d *document, out *rows, rowOf func(checkedSheet) (Row, *reject)) error {
	var columns map[string]int
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		switch {
		case reason != "":
			return &reject{reason: reason}, nil
		case columns == nil:
			columns = map[string]int{}
			for i, name := range fields {
				columns[strings.TrimSpace(name)] = i
			}
			return nil, nil
		case len(fields) > len(columns):
			return &reject{reason: tooManyColumns}, nil
		}
		row, problem := rowOf(checkedSheet{sheet{columns, fields}, new(reject)})
		if problem != nil {
			return problem, nil
		}
		return nil, out.add(row)
	})
}

// checkedSheet is a line whose first wrong cell is its reject.
type checkedSheet struct {
	sheet
	first *reject
}

func (s checkedSheet) word(column string) string {
	text := word(strings.TrimSpace(s.text(column)))
	if text == "" {
		s.wrong(column, isMissing)
	}
	return text
}

// number is at least so much, and not zero.
func (s checkedSheet) number(column string, least float64) float64 {
	value := s.optional(column, least)
	if value == nil {
		s.wrong(column, isMissing)
		return 0
	}
	return *value
}

func (s checkedSheet) optional(column string, least float64) *float64 {
	text := strings.TrimSpace(s.text(column))
	if text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		s.wrong(column, notANumber)
	case value <= 0:
		s.wrong(column, notPositive)
	case value < least:
		s.wrong(column, notInBaseUnits)
	}
	return &value
}

func (s checkedSheet) wrong(column, reason string) {
	if s.first.reason == "" {
		s.first.column, s.first.reason = column, reason
	}
}

func (s checkedSheet) problem() *reject {
	if s.first.reason == "" {
		return nil
	}
	return s.first
}
