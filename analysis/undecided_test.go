package analysis

import "testing"

// After 50 requests a verdict wanted "110,980 more requests".
func TestHowManyMoreRequestsIsAsGoodAsTheSamples(t *testing.T) {
	more := func(n int64) *int64 { return &n }
	v := SLOVerdict{Outcome: Undecided}
	for want, said := range map[string][]ObjectiveVerdict{
		"undecided, about 111,000 more requests as far as 50 samples tell": {{Samples: 50, MoreRequests: more(110_980)}, {Samples: 9, MoreRequests: more(7)}},
		"undecided, about 1,670 more requests":                             {{Samples: 200, MoreRequests: more(1_670)}},
		"undecided, about 1 more request":                                  {{Samples: 20, MoreRequests: more(1)}},
	} {
		if got := v.outcomeText(said); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
