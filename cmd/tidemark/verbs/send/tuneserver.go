package send

// Stage two of the verb tune: servers that are really started. Package analysis/tune says who starts next and what came of the race,
// replay/server starts and stops, and each candidate's capacity is searched as the verb capacity does, in a state file of its own.
//
// The journal runs/<name>.tune.jsonl knows every start before it is made. After a kill the same command stops the server that was left, and
// goes on with the search that was under way: its runs are in its state file.

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/analysis/tune"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/replay"
	"tidemark/replay/server"
)

// tuning is stage two while it goes.
type tuning struct {
	*tuneFlags
	file    tune.File
	asked   asked
	journal string
	log     *tune.Log
	race    *tune.Race
	twins   map[string]capacity.Twin // the engine models, by candidate
	notKept error                    // the first search that could not be ingested
	running *server.Process          // with live knobs: it stays for the next turn
	flags   []string                 // that it was started with
}

// prepare refuses what cannot be started, opens the journal, and stops what a killed process has left.
func (f *tuneFlags) prepare(file tune.File, a asked) (*tuning, error) {
	if _, err := exec.LookPath(file.Server.Start[0]); err != nil {
		return nil, hint.Misuse("tune: server.start: %w", err).Hint("the program is looked for beside the file, or in $PATH")
	}
	if stop := file.Server.Stop; len(stop) > 0 {
		if _, err := exec.LookPath(stop[0]); err != nil {
			return nil, hint.Misuse("tune: server.stop: %w", err).Hint("the program is looked for beside the file, or in $PATH")
		}
	}
	if err := file.CheckBudget(a.base.question); err != nil {
		return nil, err
	}
	f.BaseURLs, f.To.Model, f.SLO = *cli.NewStringSlice(file.Server.BaseURL), file.Server.Model, file.SLO
	t := &tuning{tuneFlags: f, file: file, asked: a, journal: filepath.Join(f.Runs, file.Name+".tune.jsonl"), twins: map[string]capacity.Twin{}}
	var err error
	if t.log, err = tune.OpenLog(t.journal, file, f.isFresh, time.Now); err != nil {
		return nil, err
	}
	tellFaults(&f.Call, f.Runs)
	if err = t.stopLeft(); err == nil && !t.log.IsFinished {
		err = t.command(nil, replay.Settings{}).CheckFree(f.Context)
	}
	if err != nil {
		t.log.Close()
		return nil, err
	}
	return t, nil
}

// run races what stage one left, and prints what came of it.
func (t *tuning) run(rows []tune.Row) error {
	t.race = t.file.NewRace(rows, t.asked.base.question)
	for i, row := range rows { // in the order of the candidates
		if row.Why == "" {
			twin := twinOf(t.asked.modelled[i], row.IsCached)
			twin.AreSettingsCertain = false // a server says itself what it runs with
			t.twins[row.Key()] = twin
		}
	}
	ended, err := t.play()
	if err = errors.Join(err, t.stopRunning()); err != nil {
		t.Tell("the journal is in %s: the same command goes on there", t.journal)
		return err
	}
	return t.say(rows, ended)
}

// play starts one server after the other until the race has ended.
func (t *tuning) play() (ended string, err error) {
	if len(t.log.Tries) > 0 {
		t.Tell("going on after %s, in the journal; --restart begins again", show.Things(len(t.log.Tries), "start", "starts"))
	}
	for {
		t.race.Tries = t.log.Tries
		turn, ended := t.race.Next()
		if ended != "" {
			return ended, t.log.Finished(ended)
		}
		if err := t.try(turn); err != nil {
			return "", err
		}
	}
}

// stopLeft stops the server that a killed process has started. One that is gone left the port free, or the next start says so.
func (t *tuning) stopLeft() error {
	if t.log.Left == nil {
		return nil
	}
	left := server.Left(t.command(nil, replay.Settings{}), *t.log.Left)
	if left.IsAlive() || len(left.StopArgs) > 0 { // a container outlives the process that started it
		t.Tell("stopping the server that a killed process has left, process %d", left.PID)
		if err := left.Stop(); err != nil {
			return err
		}
	}
	return t.log.Stopped()
}

// command starts a candidate's server; its log is numbered by the start.
func (t *tuning) command(flags []string, settings replay.Settings) server.Command {
	s, headers := t.file.Server, http.Header{}
	maps.Copy(headers, settings.Headers)
	if settings.APIKey != "" {
		headers.Set("Authorization", "Bearer "+settings.APIKey)
	}
	return server.Command{Args: s.Command(flags), StopArgs: s.Stop, Dir: s.Dir, BaseURL: s.BaseURL, Headers: headers, ReadyWithin: s.ReadyWithin, StopWithin: s.StopWithin,
		Log: filepath.Join(t.Runs, t.log.SeriesID, fmt.Sprintf("start-%02d.log", t.log.Starts))}
}

// searchOf is the search for a candidate's capacity: one of the same name goes on in the next turn, and after a kill.
func (t *tuning) searchOf(turn tune.Turn) (*search, error) {
	s := *t.asked.base
	s.named, s.question.Twin = turn.Deployment, t.twins[turn.Key()]
	s.question.Budget, s.question.MaxScale, s.question.MaxLatenessS = turn.Load, t.race.MaxScale(), t.To.MaxLateness.Seconds()
	s.question.Precision = tune.Precision
	s.header.Precision = tune.Precision
	if err := s.describe(); err != nil {
		return nil, err
	}
	s.header.Verb = t.Verb
	s.called(t.searchID(turn.Candidate))
	return &s, nil
}

// searchID names a candidate's search.
func (t *tuning) searchID(c tune.Candidate) string {
	sum := sha256.Sum256([]byte(c.Key()))
	return t.log.SeriesID + "-" + hex.EncodeToString(sum[:4])
}

// try is one turn: a start, and what the server takes.
func (t *tuning) try(turn tune.Turn) error {
	s, err := t.searchOf(turn)
	if err != nil {
		return err
	}
	state, events, err := live.OpenState(s.path, &s.header, false)
	if err != nil {
		return err
	}
	defer state.Close()
	try := tune.Try{Candidate: turn.Key()}
	if answers := live.Answers(events); len(answers) > t.race.Answers(turn.Key()) { // a kill came between the answer and the journal
		try.Answered(*answers[len(answers)-1], s.header.Origin)
		return t.log.Ended(try)
	}
	s.state, s.earlier = state, live.OnNewStart(live.Resumable(events, s.question.MaxLatenessS))
	s.question.Budget += live.BrokenOff(s.earlier) // a candidate is not judged by less load than others because of a kill
	failure, err := t.serve(turn, s.server.Settings, &try)
	if err != nil {
		return err
	}
	if failure != nil {
		try.Failed(tune.NotReady, failure.Why, failure.Last)
		return errors.Join(t.ended(turn, try), t.log.Stopped())
	}
	err = t.measure(turn, s, t.running, &try)
	if err == nil {
		err = t.ended(turn, try) // before the server is stopped: what was measured is not lost by a kill
	}
	if live, _ := turn.Live(); err == nil && live != nil && try.Outcome == tune.Served {
		return nil
	}
	return errors.Join(err, t.stopRunning())
}

// serve starts the server of a turn. One that runs serves another turn that differs in live knobs alone.
func (t *tuning) serve(turn tune.Turn, settings replay.Settings, try *tune.Try) (*server.Failure, error) {
	flags := turn.StartFlags()
	_, areAllSet := turn.Live()
	isThere := t.running != nil && areAllSet && slices.Equal(t.flags, flags) && t.running.IsAlive()
	if !isThere {
		if err := t.stopRunning(); err != nil {
			return nil, err
		}
	}
	if err := t.log.Starting(turn.Key()); err != nil {
		return nil, err
	}
	if isThere {
		try.Log = t.running.Log
		t.Tell("start %d: %s; %s; on the server that runs", t.log.Starts, turn.Label(), turn.Why)
		return nil, nil
	}
	command := t.command(flags, settings)
	if err := os.MkdirAll(filepath.Dir(command.Log), 0o755); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	try.Log = command.Log
	t.Tell("start %d: %s; %s; its log is %s", t.log.Starts, turn.Label(), turn.Why, command.Log)
	process, failure, err := command.Start(t.Context, t.log.Started)
	t.running, t.flags = process, flags
	return failure, err
}

// stopRunning stops the server, if one runs.
func (t *tuning) stopRunning() error {
	if t.running == nil {
		return nil
	}
	process := t.running
	t.running = nil
	return errors.Join(process.Stop(), t.log.Stopped())
}

// ended writes down what came of a start.
func (t *tuning) ended(turn tune.Turn, try tune.Try) error {
	if try.Outcome != tune.Served {
		t.Tell("%s: %s", turn.Label(), try.Why)
	}
	return t.log.Ended(try)
}

// measure reads the settings back and searches. Whatever the server does is a result; an interrupt is an error.
func (t *tuning) measure(turn tune.Turn, s *search, process *server.Process, try *tune.Try) error {
	commands, _ := turn.Live()
	for _, args := range commands {
		if err := process.Run(t.Context, args); err != nil {
			try.Failed(tune.Unusable, err.Error(), nil)
			return t.Context.Err()
		}
	}
	if ignored := server.Ignored(turn.Settings(), process.Settings(t.Context)); len(ignored) > 0 {
		try.Failed(tune.Ignored, "the server ignores a flag: "+strings.Join(ignored, "; "), nil)
		return nil
	}
	answer, err := s.onServer()
	switch {
	case t.Context.Err() != nil:
		return t.Context.Err()
	case !process.IsAlive():
		failure := process.Ended()
		try.Failed(tune.Unusable, failure.Why, failure.Last)
		return nil
	case err != nil:
		try.Failed(tune.Unusable, err.Error(), nil)
		return nil
	}
	try.Answered(answer, s.header.Origin)
	if err := s.takeIn(); err != nil && t.notKept == nil {
		t.notKept = hint.Errorf("the search in %s was not ingested: %w", s.path, err).Hint("tidemark ingest %s%s", escape.Shell(s.path), s.WarehouseWords())
	}
	return nil
}
