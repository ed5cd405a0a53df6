package metrics

// Sample is one value of one series. Scrape numbers the looks at a server within a
// file, so that samples of one look belong together even where no stamp says when
// it was. AtNs is nanoseconds since the source's first stamp; nil without stamps.
type Sample struct {
	Scrape int32   `sql:"scrape"`
	AtNs   *int64  `sql:"at_ns"`
	Name   string  `sql:"name"`
	Labels string  `sql:"labels"`
	Value  float64 `sql:"value"`
}

// Table is where samples are kept; those of our own runs are in raw.samples.
func (Sample) Table() string { return "metrics" }
