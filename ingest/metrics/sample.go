package metrics

type Sample struct {
	Scrape int32   `sql:"scrape"`
	AtNs   *int64  `sql:"at_ns"`
	Name   string  `sql:"name"`
	Labels string  `sql:"labels"`
	Value  float64 `sql:"value"`
}

func (Sample) Table() string { return "metrics" }
