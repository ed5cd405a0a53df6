//go:build duckdb_arrow

package workload

import (
	"testing"

	"tidemark/replay/profile"
)

func TestHoldMean(t *testing.T) {
	for _, c := range []struct {
		why        string
		mean, want float64
		first      profile.Bucket
	}{
		{"low in the bucket", 1024, 1024, profile.Bucket{From: 1000, Until: 1047, Count: 4}},
		{"high in the bucket", 1975, 1975, profile.Bucket{From: 1949, Until: 2000, Count: 4}},
		{"a mean that it cannot have", 3000, 2000, profile.Bucket{From: 1999, Until: 2000, Count: 4}},
		{"a mean below it", 10, 1001, profile.Bucket{From: 1000, Until: 1001, Count: 4}},
	} {
		buckets := []profile.Bucket{{From: 1000, Until: 2000, Count: 4}}
		if got := holdMean(buckets, c.mean); got != c.want || buckets[0] != c.first {
			t.Errorf("%s: got %v, %v; want %v, %v", c.why, got, buckets[0], c.want, c.first)
		}
	}
}
