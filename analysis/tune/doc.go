// Package tune chooses the settings of a server: which of many configurations takes the most traffic within an SLO, and which at the least
// cost per million accepted tokens.
//
//	file.go       the file that a user writes: traffic, deployment, space, constraints, objectives
//	space.go      the candidates: every combination of values, the file's own deployment first
//	ranges.go     the highest value of a setting that starts, by halving
//	rehearse.go   stage one, without a server: the capacity of each candidate by package capacity, with one rehearsal for all that the
//	              engine cannot tell apart
//	front.go      cost, front and knee
//	server.go     how a candidate's server is started, and the budget of stage two
//	race.go       stage two, with servers: who starts next, who is beaten, when it ends
//	log.go        the journal of stage two
//
// It knows no database and no HTTP and starts nothing: the caller says what engine a candidate is, starts its server, and prints what came of it. It refuses a file
// in which a value is not meant and a space without a valid candidate.
package tune
