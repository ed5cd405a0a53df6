package hardware

import (
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// GPUs reads GPUs of the user's own: a CSV with the columns of seeds.gpus. A GPU
// whose name is built in replaces that one.
var GPUs = read.Format{
	Name: "gpus",
	Sees: func(h *read.Head) string {
		return read.If(h.ColumnsHave("gpu", "memory_bytes", "hbm_bytes_per_s"), "GPUs, with gpu, memory_bytes, hbm_bytes_per_s")
	},
	Read:  readGPUs,
	Wants: "the columns gpu, memory_bytes, hbm_bytes_per_s, bf16_flop_per_s, link (and aliases, fp8_flop_per_s, fp4_flop_per_s)",
	Kind:  "gpus",
}

// Prices reads prices of the user's own: a CSV with the columns of seeds.prices.
var Prices = read.Format{
	Name: "prices",
	Sees: func(h *read.Head) string {
		return read.If(h.ColumnsHave("gpu", "usd_per_gpu_hour"), "prices, with gpu, usd_per_gpu_hour")
	},
	Read:  readPrices,
	Wants: "the columns gpu, usd_per_gpu_hour (and label)",
	Kind:  "prices",
}

func readGPUs(d *read.Document, out *read.Rows) error {
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		row := gpuRow{
			GPU: s.Word("gpu"), Aliases: maybe.Known(s.Text("aliases")), Link: strings.ToLower(strings.TrimSpace(s.Text("link"))),
			// The least that is believed shows a column in GB, GB/s or TFLOP/s.
			MemoryBytes: s.Quantity("memory_bytes", 1e9), HBMBytesPerS: s.Quantity("hbm_bytes_per_s", 1e9), BF16FlopPerS: s.Quantity("bf16_flop_per_s", 1e11),
			FP8FlopPerS: s.OptionalQuantity("fp8_flop_per_s", 1e11), FP4FlopPerS: s.OptionalQuantity("fp4_flop_per_s", 1e11),
		}
		if row.Link != "nvlink" && row.Link != "pcie" {
			s.Wrong("link", read.NotALink)
		}
		return addComplete(out, s, row)
	})
}

func readPrices(d *read.Document, out *read.Rows) error {
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		row := priceRow{GPU: s.Word("gpu"), USDPerGPUHour: s.Quantity("usd_per_gpu_hour", 0), Label: read.WordOrNil(s.Text("label"))}
		return addComplete(out, s, row)
	})
}

// addComplete adds a row none of whose cells was wrong.
func addComplete(out *read.Rows, s *read.Sheet, row read.Row) (*read.Reject, error) {
	if s.Problem() != nil {
		return s.Problem(), nil
	}
	return nil, out.Add(row)
}
