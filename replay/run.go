package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// beginAhead is from the last preparation to the run's zero: the request due at zero needs its connection before it.
const beginAhead = connectAhead + 20*time.Millisecond

// Run sends the plan and fills folder, which must not exist. When ctx ends, nothing more is sent and the streams in
// flight finish; when s.Abort ends too, they are left and count as cancelled. A request that fails is a row, not an
// error. An error with a Result says why the run stopped by itself; the folder is whole then too.
func Run(ctx context.Context, plan *Plan, s Settings, folder string) (Result, error) {
	s, targets, err := s.settled(plan)
	if err != nil {
		return Result{}, err
	}
	if _, err := os.Lstat(folder); err == nil {
		return Result{}, folderExists(folder)
	}
	t := targets[0]
	asker := newAsker(s, t)
	defer asker.close()
	server, err := asker.probe(ctx, s.Model)
	if err != nil {
		return Result{}, err
	}
	prompts, err := s.prompts(server)
	if err != nil {
		return Result{}, err
	}
	if err := makeFolder(folder); err != nil {
		return Result{}, err
	}
	r := run{settings: s, target: t, asker: asker, folder: folder}
	r.document = newDocument(r.settings, t, plan, server)
	return r.do(ctx, plan, prompts)
}

// prompts settles the range of token ids: what was asked for, else the default cut to what the server's model has.
func (s *Settings) prompts(server Server) (Prompts, error) {
	if s.VocabHigh == 0 {
		s.VocabHigh = DefaultVocabHigh
		if server.vocabSize > 0 {
			s.VocabHigh = min(s.VocabHigh, server.vocabSize)
		}
	}
	if s.VocabLow == 0 {
		s.VocabLow = min(DefaultVocabLow, s.VocabHigh/4) // a small vocabulary has its special ids lower
	}
	return NewPrompts(s.VocabLow, s.VocabHigh, s.Seed)
}

// run is one run while it goes.
type run struct {
	settings Settings
	target   target
	asker    *asker
	folder   string
	document document
	sender   *sender
	sampler  *sampler
}

// stoppedBy begins the error of a run that stopped by itself.
const stoppedBy = "replay: stopped: "

var errLeft = errors.New("left before it had ended")

func (r *run) do(ctx context.Context, plan *Plan, prompts Prompts) (Result, error) {
	s := r.settings
	r.document.StartedAt = stamp(s.Wall())
	if err := r.document.write(r.folder, s.create); err != nil { // first of all files: a killed run can be told
		return Result{}, err
	}
	unsent := Result{Planned: plan.Header().Requests, Unsent: plan.Header().Requests, Failures: map[string]int64{}}
	plan, err := copyPlan(plan, r.folder, s.create)
	if err != nil {
		return r.conclude(unsent, err)
	}
	abort, leave := context.WithCancelCause(s.Abort)
	defer leave(nil)
	defer context.AfterFunc(s.Abort, func() { leave(errLeft) })()
	stop, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(s.Abort, func() { giveUp(errLeft) })()
	if err := r.open(stop, abort, giveUp, prompts); err != nil {
		return r.conclude(unsent, err)
	}
	r.play(plan, s.Sleep)
	return r.close(ctx, plan.Header().Requests)
}

// open makes everything that the first request needs.
func (r *run) open(stop, abort context.Context, giveUp context.CancelCauseFunc, prompts Prompts) error {
	s := r.settings
	rows, err := openLog(filepath.Join(r.folder, "requests.jsonl.zst"), s.create, giveUp)
	if err != nil {
		return err
	}
	samples, err := openLog(filepath.Join(r.folder, "samples.jsonl.zst"), s.create, giveUp)
	if err != nil {
		return errors.Join(err, rows.close())
	}
	m := &meter{}
	r.sender = &sender{
		settings: s, scrub: r.asker.scrub, meter: m, journal: newJournal(rows), abort: abort, stop: stop, giveUp: giveUp,
		pool: &pool{address: r.target.address, dial: s.Dial, tls: r.target.tlsConfig(s), timeout: s.ConnectTimeout},
		writer: newWriter(r.target.base.EscapedPath()+s.Endpoint, r.target.base.Host, s.headers(), s.Model,
			s.RunID+"-", s.CountByUsage, prompts),
	}
	r.sampler = &sampler{asker: r.asker, url: s.MetricsURLs[0], log: samples, meter: m, beat: s.beat, heart: heartbeat{meter: m}}
	return nil
}

// play is the run itself: from the baseline to the end of the last stream.
func (r *run) play(plan *Plan, sleep Sleep) {
	if sleep == nil {
		var release func()
		sleep, release = newSleep()
		defer release()
	}
	roomForFiles()
	r.sampler.baseline(r.sender.stop)
	begin := time.Now().Add(beginAhead)
	r.document.StartedAt = stamp(r.settings.Wall().Add(beginAhead))
	r.sender.begin, r.sampler.begin = begin, begin
	during, end := context.WithCancel(r.sender.abort)
	defer end()
	r.sampler.start(during)
	progress := r.progress(during, plan.Header())
	_ = r.sender.dispatch(plan.Requests(), sleep) // its error is the cause of stop
	end()
	r.sampler.last(r.sender.abort)
	<-progress
	r.sender.pool.close()
}

// progress reports each second, and once more at the end.
func (r *run) progress(ctx context.Context, plan Header) (ended chan struct{}) {
	ended = make(chan struct{})
	report := func() {
		p := r.sender.meter.report(max(time.Since(r.sender.begin), 0))
		p.Planned, p.PlanDuration = plan.Requests, fromSeconds(plan.DurationS)
		r.settings.Progress(p)
	}
	go func() {
		defer close(ended)
		if r.settings.Progress == nil {
			return
		}
		for timerSleep(ctx, time.Second) {
			report()
		}
		report()
	}()
	return ended
}

// close makes the folder whole.
func (r *run) close(ctx context.Context, planned int64) (Result, error) {
	rowsErr := r.sender.journal.log.close()
	err := errors.Join(rowsErr, r.sampler.log.close())
	most := limits{r.settings.MaxLateness, r.settings.MaxStall}
	result := r.sender.journal.outcome.finish(planned, most, r.sampler.heart.longest(), r.sender.clientLimit.Load())
	cause := context.Cause(r.sender.stop)
	wasAsked := ctx.Err() != nil || r.settings.Abort.Err() != nil
	switch {
	case err != nil: // conclude says so
	case cause != nil && !wasAsked:
		err = fmt.Errorf(stoppedBy+"%w", cause)
	case result.Unsent > 0 || result.Failures["cancelled"] > 0:
		result.Status = statusInterrupted
	default:
		result.Status = statusDone
	}
	return r.conclude(result, err)
}

// conclude writes run.json for good. A run that stopped by itself has measured something else than its plan.
func (r *run) conclude(result Result, err error) (Result, error) {
	if err != nil {
		r.document.StopReason = r.asker.scrub.text(err.Error())
		result.Status, result.IsValid = statusAborted, false
		result.InvalidReason = "the run stopped by itself: " + strings.TrimPrefix(r.document.StopReason, stoppedBy)
	}
	r.document.Status, r.document.EndedAt, r.document.Result = result.Status, stamp(r.settings.Wall()), &result
	return result, errors.Join(err, r.document.write(r.folder, r.settings.create))
}
