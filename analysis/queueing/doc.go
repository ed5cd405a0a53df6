// Package queueing has the waiting-time formulas that work on single requests and single percentiles, which SQL macros cannot
// do. It has no I/O: analysis asks the warehouse and hands the numbers in. Mean waits by closed formulas (M/M/c, Pollaczek and
// Khinchine, Kingman) are macros in queries/macros/queueing.sql, and what one batch costs is macros.mix_curve.
//
// events.go serves recorded arrivals one by one, first come, first served (Lindley 1952): no distribution is assumed.
//
// curve.go finds the batch that a load makes on a Curve, and the times there. It uses
//
//   - Little's law, N = rate * time (Little 1961): a closed loop of N clients serves N / (time of one request);
//   - Kingman's heavy-traffic result (Kingman 1961): a wait grows linearly in the squared coefficient of variation of
//     the gaps. macros.mix_curve gives the slope as Flow.BurstS;
//   - linear interpolation between two batches that differ by a seventh, in the logarithm of the rate.
//
// latency.go turns mean waits into percentiles:
//
//   - the share of requests that find the server busy is its utilization (PASTA: Poisson arrivals see time averages, Wolff 1982);
//   - those that wait do so exponentially, which is exact for M/M/1 and the limit of M/G/1 in heavy traffic (Kingman 1961), so that
//     P(wait > t) = u * exp(-u * t / W) for utilization u and mean wait W;
//   - how many prompts fall into an answer is Poisson, so the deviation of its mean time per token falls with the root of its
//     length, and the sum of many is taken as normal.
//
// slots.go finds how many requests wait for one of a limited number of slots: by the recorded arrivals, else by Erlang's C
// formula (Erlang 1917), computed with the recursion of Erlang B, whose numbers stay small where factorials overflow.
//
// The package does not predict how long a request waits for a slot: an answer takes longer in a burst than the mean says.
package queueing
