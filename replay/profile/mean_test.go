package profile

import "testing"

func TestHoldMean(t *testing.T) {
	for _, c := range []struct {
		why        string
		mean, want float64
		first      Bucket
	}{
		{"low in the bucket", 1024, 1024, Bucket{From: 1000, Until: 1047, Count: 4}},
		{"high in the bucket", 1975, 1975, Bucket{From: 1949, Until: 2000, Count: 4}},
		{"a mean that it cannot have", 3000, 2000, Bucket{From: 1999, Until: 2000, Count: 4}},
		{"a mean below it", 10, 1001, Bucket{From: 1000, Until: 1001, Count: 4}},
	} {
		buckets := []Bucket{{From: 1000, Until: 2000, Count: 4}}
		if got := HoldMean(buckets, c.mean); got != c.want || buckets[0] != c.first {
			t.Errorf("%s: got %v, %v; want %v, %v", c.why, got, buckets[0], c.want, c.first)
		}
	}
}
