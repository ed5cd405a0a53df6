package profile

import "time"

// Schema is the first line of a profile.
const Schema = "tidemark.profile/1"

// Profile is traffic as a file describes it.
type Profile struct {
	Name        string
	Description string
	Mode        string // "open" (turns are due by the clock alone) or "sessions" (a turn after the one before and its think time)
	BlockTokens int    // prompts share whole blocks of so many tokens
	// Sessions start before Duration, and there are at most so many; 0: no such
	// end.
	Duration time.Duration
	Sessions int64
	// MaxConcurrency is the number of requests in flight that the profile is
	// meant for; 0: not said.
	MaxConcurrency int
	Arrivals       Arrivals
	Classes        []Class
	SHA256         string // of the file
}

// Arrivals say when sessions start.
type Arrivals struct {
	Process    string  // constant, poisson, gamma, trace or at_once
	RatePerS   float64 // sessions per second; 0: by Windows, or the trace's own
	Burstiness float64 // gamma: the shape of the gaps, as in vllm bench; 1 is Poisson, below 1 is burstier
	Source     string  // trace: whose gaps
	Windows    []Window
}

// Window is a part of the day, since midnight, with its rate of sessions.
type Window struct {
	From, Until time.Duration
	RatePerS    float64
}

// Class is one kind of sessions.
type Class struct {
	Name   string
	Share  float64 // of sessions
	Turns  *Distribution
	Listed []Turn // turns one by one, in place of Turns
	First  *Turn  // the first turn, where it differs from later ones
	Turn          // what the turns are like that the list does not describe
	Joint  *Joint // input and output together, in place of both
	Prefix Prefix
	Alone  *Alone
}

// Turn describes one turn. What is nil, the class says.
type Turn struct {
	Input, Output *Distribution // tokens
	Think         *Distribution // seconds after the answer before
}

// Alone is what differs when a class is played alone.
type Alone struct {
	Arrivals       Arrivals
	Sessions       int64
	MaxConcurrency int
}

// Prefix says which parts of prompts are equal.
type Prefix struct {
	Shared *Shared
	// IsGrowing makes each prompt start with everything said before; input
	// tokens are then the new text of a turn. Otherwise input tokens are the
	// whole prompt, including the shared part.
	IsGrowing bool
}

// Shared are prefixes that sessions start with, such as system prompts.
type Shared struct {
	Name         string // classes that give the same name share these prefixes
	Count        int
	Tokens       *Distribution // of a prefix
	Ratio        float64       // in place of Tokens: share of the first prompt
	FollowsInput bool          // the longer the prompt, the longer the shared part: Tokens then varies per session
	IsZipf       bool          // the n-th prefix has 1/n of the first one's sessions; otherwise all have the same
}

// Joint are input and output tokens that belong together.
type Joint struct {
	Cells    []Cell
	Windows  []CellWindow // in place of Cells
	Source   string       // in place of both
	IsHourly bool         // of a source: each hour of the day has its own distribution
}

// Cell holds Count requests whose lengths lie in two ranges, bounds included.
type Cell struct {
	Input, Output [2]int
	Count         float64
}

// CellWindow are the cells of a part of the day.
type CellWindow struct {
	From, Until time.Duration
	Cells       []Cell
}
