package profile

import "math"

// HoldMean narrows buckets, if it can, so that their lengths have a mean, and returns the one that they have.
//
// Buckets of a server's histogram may be as wide as they are high: lengths that are drawn evenly over them had a mean 47 % above the one
// that the server counted, where all prompts had 1,024 tokens and the bucket reaches from 1,000 to 2,000. So lengths are drawn from a
// part of each bucket, its low or its high end, and the same share of each, such that the mean is the server's _sum over its _count.
func HoldMean(buckets []Bucket, mean float64) float64 {
	least := func(b Bucket) float64 { return math.Floor(b.From) + 1 }
	count, low, width := 0.0, 0.0, 0.0
	for _, b := range buckets {
		count += b.Count
		low += b.Count * least(b)
		width += b.Count * (b.Until - least(b))
	}
	place := 0.5 // of each bucket's mean, between its ends
	if width > 0 {
		place = min(max((mean*count-low)/width, 0), 1)
	}
	sum := 0.0
	for i, b := range buckets {
		lowest, highest := least(b), b.Until
		middle := lowest + place*(highest-lowest)
		if place < 0.5 {
			highest = math.Round(2*middle - lowest)
		} else {
			lowest = math.Round(2*middle - highest)
		}
		buckets[i].From, buckets[i].Until = lowest-1, highest
		sum += b.Count * (lowest + highest) / 2
	}
	return sum / count
}
