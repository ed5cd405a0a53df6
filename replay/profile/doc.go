// Package profile says what traffic is like, in YAML, and draws requests of it: classes and their shares, lengths, turns
// and think times, when sessions arrive, and which parts of prompts are equal.
//
// How its parts fit: read.go and the parse_*.go beside it take a file apart and name the line of what cannot be meant;
// distribution.go turns each number that varies into its quantile function; deck.go draws ranks; arrivals.go says when
// sessions begin; session.go lays out a session's prompts; requests.go puts the turns of all sessions in order of time.
// measure.go sets what was drawn beside what was asked for; fit.go goes the other way, from a dashboard's quantiles, a
// histogram or a trace to a profile. examples/ are the profiles that are built in.
//
// A session is one endless stream of tokens: its starter, which other sessions may share, and then text of its own. A
// turn's prompt is the first input tokens of it, so that each prompt begins with the one before, and the answer stands
// where it was given.
//
// The same seed draws the same sessions whatever the duration, the limit and the other classes are.
//
// It refuses: to guess (an unknown key is an error), to hold a plan in memory, and to know where a source's lengths come
// from: the caller brings them.
package profile
