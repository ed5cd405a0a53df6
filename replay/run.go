// A run from its settings to its folder. Two contexts end it: when ctx ends nothing more is sent and streams in flight
// finish (the first Ctrl-C); when Settings.Abort ends they are cut and count as cancelled (the second). giveUp is the third
// way: the run stops by itself, since no server is left or the disk is full. The folder is whole in all three cases.

package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// Run sends the plan and fills folder, which must not exist. When ctx ends, nothing more is sent and the streams in
// flight finish; when s.Abort ends too, they are left and count as cancelled. A request that fails is a row, not an
// error. An error with a Result says why the run stopped by itself; the folder is whole then too.
func Run(ctx context.Context, plan *plan.Plan, s Settings, folder string) (Result, error) {
	s, targets, err := s.settled(plan)
	if err != nil {
		return Result{}, err
	}
	if _, err := os.Lstat(folder); err == nil {
		return Result{}, folderExists(folder)
	}
	asker := newControlClient(s, targets)
	defer asker.close()
	ready, err := s.prepare(ctx, asker, plan)
	if err != nil {
		return Result{}, err
	}
	if err := s.checkStart(ctx, asker); err != nil {
		return Result{}, err
	}
	if err := makeFolder(folder); err != nil {
		return Result{}, err
	}
	r := run{settings: s, targets: targets, servers: ready.servers, control: asker, folder: folder}
	r.document = newDocument(s, targets, plan, ready)
	return r.do(ctx, plan, ready.prompts)
}

// run is one run while it goes.
type run struct {
	settings Settings
	targets  []target // those of BaseURLs, then those of Routes
	servers  []Server // what they are, in that order
	control  *controlClient
	folder   string
	document document
	state    *runState
	sampler  *sampler
}

// stoppedPrefix begins the error of a run that stopped by itself.
const stoppedPrefix = "replay: stopped: "

// errLeft is the cause where the user ended the run at once.
var errLeft = errors.New("left before it had ended")

// do runs it from the first file to the last. From the first file on every way out goes through conclude, so that
// run.json always says how the run ended.
func (r *run) do(ctx context.Context, plan *plan.Plan, prompts plan.Prompts) (Result, error) {
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
func (r *run) open(stop, abort context.Context, giveUp context.CancelCauseFunc, prompts plan.Prompts) error {
	s := r.settings
	rows, err := openLog(filepath.Join(r.folder, "requests.jsonl.zst"), s.create, giveUp)
	if err != nil {
		return err
	}
	samples, err := openLog(filepath.Join(r.folder, "samples.jsonl.zst"), s.create, giveUp)
	if err != nil {
		return errors.Join(err, rows.close())
	}
	m, slots := &meter{}, 0
	if s.Mode == schedule.Closed {
		slots = s.MaxConcurrency
	}
	r.state = &runState{
		settings: s, scrub: r.control.scrub, meter: m, journal: newJournal(rows, slots), abort: abort, stop: stop, giveUp: giveUp,
		router: newRouter(s, r.servers, prompts, r.document.Plan.Classes), keepsIDs: s.History == "answered",
		mayEndEarly: s.mayEndEarly(),
	}
	r.state.availability = &availability{router: r.state.router, stops: s.OnDead == onDeadStop, tell: s.Tell, giveUp: giveUp}
	r.sampler = newSampler(r, samples, m, giveUp)
	return nil
}

// play is the run itself: from the baseline to the end of the last stream.
func (r *run) play(plan *plan.Plan, sleep host.Sleep) {
	if sleep == nil {
		var release func()
		sleep, release = host.NewSleep()
		defer release()
	}
	host.GrowFileTable()
	if wait := r.settings.untilStart() - startAhead; wait > 0 {
		r.settings.Tell("waiting for the start at " + stamp(r.settings.StartAt))
		host.TimerSleep(r.state.stop, wait)
	}
	r.sampler.baseline(r.state.stop)
	d := newDispatcher(r.state, plan.Requests(), sleep)
	d.warm()
	r.document.StartedAt = stamp(r.settings.Wall().Add(time.Until(d.begin)))
	r.sampler.begin = d.begin
	during, end := context.WithCancel(r.state.abort)
	defer end()
	r.sampler.start(during)
	progress := r.progress(during, plan.Header())
	d.run()
	end()
	r.sampler.last(r.state.abort)
	<-progress
	r.state.router.close()
}

// progress reports each second, and once more at the end.
func (r *run) progress(ctx context.Context, header plan.Header) (ended chan struct{}) {
	ended = make(chan struct{})
	report := func() {
		p := r.state.meter.report(max(time.Since(r.state.begin), 0))
		p.Planned, p.PlanDuration = header.Requests, plan.FromSeconds(header.DurationS)
		if slices.ContainsFunc(slices.Collect(maps.Keys(r.settings.Models)), r.settings.asksOther) {
			p.Model = r.settings.Model
		}
		own := p.InFlight - r.state.meter.othersInFlight.Load()
		if predict := r.settings.PredictTPOT; predict != nil && own > 0 {
			p.PredictedTPOT = predict(int(own), r.state.journal.outcome.context.mean(header), header)
		}
		p.Throttled = r.sampler.throttles.words()
		r.settings.Progress(p)
	}
	go func() {
		defer close(ended)
		if r.settings.Progress == nil {
			return
		}
		for host.TimerSleep(ctx, time.Second) {
			report()
		}
		report()
	}()
	return ended
}

// close makes the folder whole.
func (r *run) close(ctx context.Context, planned int64) (Result, error) {
	rowsErr := r.state.journal.log.close()
	err := errors.Join(rowsErr, r.sampler.log.close())
	most := limits{r.settings.MaxLateness, r.settings.MaxStall}
	result := r.state.journal.outcome.finish(planned, most, r.sampler.observed(), r.state.clientLimit.Load())
	r.noteCached(result)
	r.document.Gone = r.state.availability.gone
	r.document.Readiness.Notes = append(r.document.Readiness.Notes, r.sampler.alternating.all()...)
	cause := context.Cause(r.state.stop)
	wasAsked := ctx.Err() != nil || r.settings.Abort.Err() != nil
	switch {
	case err != nil: // conclude says so
	case cause != nil && (!wasAsked || errors.As(cause, new(stopError))): // Ctrl-C after that changes nothing
		err = fmt.Errorf(stoppedPrefix+"%w", cause)
	case result.Unsent > 0 || result.Failures["cancelled"] > 0:
		result.Status = statusInterrupted
	default:
		result.Status = statusDone
	}
	return r.conclude(result, err)
}

// noteCached says so when a run that was to share nothing was given cached tokens all the same.
func (r *run) noteCached(result Result) {
	if cache := &r.document.Readiness.Cache; cache.Asked == cacheCold && result.CachedTokensReported > 0 {
		cache.Note = fmt.Sprintf("the server reports %d cached tokens although each request had a salt of its own", result.CachedTokensReported)
	}
}

// conclude writes run.json for good. A run that the client or the set-up cut short does not measure the plan. A server that
// has gone is what was measured, and how the client kept time matters no more.
func (r *run) conclude(result Result, err error) (Result, error) {
	if err != nil {
		result.Status = statusAborted
		r.document.StopReason = strings.TrimPrefix(r.control.scrub.Text(err.Error()), stoppedPrefix)
		r.document.StoppedBy = whoStopped(err)
		result.InvalidReason = "the run stopped by itself: " + r.document.StopReason
		if r.document.StoppedBy == stoppedByServer {
			result.InvalidReason = result.ClientLimit
		}
		result.IsValid = result.InvalidReason == ""
	}
	r.document.Status, r.document.EndedAt, r.document.Result = result.Status, stamp(r.settings.Wall()), &result
	return result, errors.Join(err, r.document.write(r.folder, r.settings.create))
}

const (
	// startAhead is what is left to the start when the first connections are made: earlier, servers would close them as idle.
	startAhead = time.Second
	// MostClockError is how far the clock of a shard may be off: as much as a request may be late.
	MostClockError = 10 * time.Millisecond
)

// untilStart is 0 or less where the run begins as soon as it is ready.
func (s *Settings) untilStart() time.Duration {
	if s.StartAt.IsZero() {
		return 0
	}
	return s.StartAt.Sub(s.Wall().Round(0))
}

// checkStart refuses a clock that is off, and a start that cannot be kept. It is the last thing before the run has a folder.
func (s *Settings) checkStart(ctx context.Context, a *controlClient) error {
	if s.StartAt.IsZero() {
		return nil
	}
	if s.untilStart() <= startAhead {
		return tooLate(s)
	}
	clock := host.ReadClock(ctx, a.lookAtClock, MostClockError, s.Wall, host.TimerSleep)
	switch {
	case clock.IsOff(MostClockError), clock.KnownBy == host.ByKernel && !clock.IsWithin(MostClockError):
		return hint.Errorf("replay: %s: more than the %d ms that the clients of one run may differ", clock, MostClockError.Milliseconds()).
			Hint("let chrony or ntpd keep this machine's clock, and start again with another --start-at")
	case !clock.IsWithin(MostClockError):
		s.Tell(clock.String() + ": not known to the " + MostClockError.String() + " that the clients of one run may differ; let chrony keep it")
	}
	if s.Shard != nil {
		s.Shard.Clock = clock
	}
	if s.untilStart() <= startAhead {
		return tooLate(s)
	}
	return nil
}

func tooLate(s *Settings) error {
	return hint.Errorf("replay: the start at %s has passed, or is less than a second ahead", stamp(s.StartAt)).
		Hint("start all shards again with a later --start-at: half a minute is enough for the checks before it")
}

// lookAtClock asks the first server for its time.
func (a *controlClient) lookAtClock(ctx context.Context) (time.Time, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return host.LookAt(a.client, a.targets[0].at("/health"))(ctx)
}
