// Package profile describes what traffic is like, in YAML, and draws requests
// from it: classes and their shares, lengths, turns and think times, when
// sessions arrive, and which parts of prompts are equal.
//
// How its parts fit: parse*.go read a file (internal/yamlfile names the line of
// every mistake); distribution.go, gamma.go and joint.go turn what varies into
// quantile functions; ranks.go supplies the ranks for them, stratified;
// arrivals.go says when sessions start; sampler.go and session.go draw a
// session and lay out its prompts; generator.go merges the turns of all
// sessions in order of time. measure.go compares what was drawn with what the
// profile asks for (expect.go), and distance.go compares two workloads. fit.go
// and histogram.go go the other way, from a dashboard or a trace to a profile.
// streams.go draws from counts per window instead of a profile. examples/ holds
// the built-in profiles, and keys.yaml is a profile with every key.
//
// A file has: schema, name, description, mode (open or sessions), block_tokens
// (64: what prompts share is whole blocks), duration and sessions (sessions
// start before the one, and number at most the other), max_concurrency,
// arrivals, classes.
//
// Arrivals: process (constant, poisson, gamma with burstiness, trace with
// source, at_once), and rate_per_s of sessions or windows of the day [{from:
// "09:00", until: "17:00", rate_per_s: 2}], between which nothing starts. The
// plan starts with the first window.
//
// A class: name; share (of sessions); input_tokens and output_tokens, or joint
// ({cells: [{input: [100, 199], output: 50, count: 3}]}, {windows: [{from,
// until, cells}]} or {source: NAME, hourly: true}); turns, their number or a
// list; first, a first turn that differs; think_s before each turn but the
// first; prefix; alone (arrivals, sessions and max_concurrency of a class that
// is played by itself). A prefix: history (none or growing) and shared: {count;
// tokens of each shared prefix, or ratio of the first prompt; popularity
// (uniform or zipf: the n-th has 1/n of the first one's sessions);
// follows_input: the longer the prompt, the longer the shared prefix; name, of
// prefixes that several classes share}. With history, input_tokens are the new
// text of a turn; without, they are the whole prompt, including the shared
// part.
//
// What varies is a number, or one of constant, uniform {from, until}, quantiles
// {p5, p50, p95} (linear in the logarithm between them; p0 and p100 are the
// ends, without them the tail is that of the log-normal through the last two),
// lognormal {p50, p95} or {mu, sigma}, histogram [{from, until, count}] (above
// from, up to until), exponential {mean}, gamma {mean, shape}, source NAME (a
// trace's lengths; with percentile that one value), each with min and max.
//
// A session is one endless stream of tokens: its prefix, which other sessions
// may share, and then text of its own. A turn's prompt is the first input
// tokens of the stream, so that each prompt starts with the one before, and the
// answer stands where it was given.
//
// The same seed draws the same sessions whatever the duration and the limit
// are, and the n-th session of a class has the same lengths and think times
// whatever other classes there are.
//
// It refuses to guess (an unknown key is an error), to hold a plan in memory,
// and to know where a source's lengths come from: the caller brings them.
package profile
