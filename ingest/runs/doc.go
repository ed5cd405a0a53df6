// Package runs reads the folder of a run, as replay writes it: run.json, the plan, the
// requests that ended, and samples of the server and the client.
//
// A run is taken in like any foreign file, after the fact and from files alone:
// that is why replay needs no database, and why a recorded run is a fixture. Four
// rules follow:
//
//   - The writer may still be at work, or may have been killed. A file may end in the middle
//     of a line or of a zstd frame; what is whole is taken in, and a note says so.
//   - What was planned and has no line of its own was never sent. It has a row all the same:
//     a request that never left stays in every denominator.
//   - A run that was taken in while it ran is replaced when it is taken in again; a run that
//     had ended is not, so that its numbers cannot change.
//   - Columns are added to the files over the years. Lines are read by their keys (lines.go,
//     jsonlines.go), a missing key is null, and an unknown one is passed over.
package runs
