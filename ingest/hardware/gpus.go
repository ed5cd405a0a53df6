package hardware

import (
	"strings"

	"tidemark/ingest/read"
)

// GPUs and prices of the user's own: CSVs with the columns of seeds.gpus and seeds.prices. A GPU of a name that is
// built in comes in its place.

var GPUs = read.Format{
	Name: "gpus",
	Sees: func(h *read.Head) string {
		if h.ColumnsHave("gpu", "memory_bytes", "hbm_bytes_per_s") {
			return "GPUs, with gpu, memory_bytes, hbm_bytes_per_s"
		}
		return ""
	},
	Read:  readGPUs,
	Wants: "the columns gpu, memory_bytes, hbm_bytes_per_s, bf16_flop_per_s, link (and aliases, fp8_flop_per_s, fp4_flop_per_s)",
	Kind:  "gpus",
}

var Prices = read.Format{
	Name: "prices",
	Sees: func(h *read.Head) string {
		if h.ColumnsHave("gpu", "usd_per_gpu_hour") {
			return "prices, with gpu, usd_per_gpu_hour"
		}
		return ""
	},
	Read:  readPrices,
	Wants: "the columns gpu, usd_per_gpu_hour (and label)",
	Kind:  "prices",
}

func readGPUs(d *read.Document, out *read.Rows) error {
	return read.ReadCheckedSheet(d, out, func(cells read.CheckedSheet) (read.Row, *read.Reject) {
		row := gpuRow{
			GPU: cells.Word("gpu"), Aliases: read.OrNil(cells.Text("aliases")), Link: strings.ToLower(strings.TrimSpace(cells.Text("link"))),
			// The least that is believed shows a column in GB, GB/s or TFLOP/s.
			MemoryBytes: cells.Number("memory_bytes", 1e9), HBMBytesPerS: cells.Number("hbm_bytes_per_s", 1e9), BF16FlopPerS: cells.Number("bf16_flop_per_s", 1e11),
			FP8FlopPerS: cells.Optional("fp8_flop_per_s", 1e11), FP4FlopPerS: cells.Optional("fp4_flop_per_s", 1e11),
		}
		if row.Link != "nvlink" && row.Link != "pcie" {
			cells.Wrong("link", read.NotALink)
		}
		return row, cells.Problem()
	})
}

func readPrices(d *read.Document, out *read.Rows) error {
	return read.ReadCheckedSheet(d, out, func(cells read.CheckedSheet) (read.Row, *read.Reject) {
		row := priceRow{GPU: cells.Word("gpu"), USDPerGPUHour: cells.Number("usd_per_gpu_hour", 0), Label: read.OrNil(read.Word(cells.Text("label")))}
		return row, cells.Problem()
	})
}
