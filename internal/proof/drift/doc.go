// Package drift holds the proof that "tidemark drift" tells a system that changed from a workload that did: seeded services whose servers follow another law
// than the model's.
package drift
