// Package splitmix has the hashing that stands behind everything drawn by a seed: which
// request a plan keeps, what a profile draws, which token the simulated server answers.
// The numbers are the same on every machine and in every version, because plans, their
// fingerprints and recorded runs depend on them. Neither function is for secrets.
//
// Sources: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014 (splitmix64); G. Fowler, L. C. Noll, K.-P. Vo, FNV-1a, 64 bits.
package splitmix

// Gamma is the step of splitmix64's state: 2^64 over the golden ratio, made odd.
const Gamma = 0x9e3779b97f4a7c15

// Mix is the output function of splitmix64 after one step: every bit of z reaches every
// bit of the result, and no two z have the same one.
func Mix(z uint64) uint64 { return Finish(z + Gamma) }

// Finish is the output function without the step; 0 stays 0.
func Finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Hash is FNV-1a of a text. Its low bits are weak: texts that are alike need Mix or Finish
// on top.
func Hash(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return h
}
