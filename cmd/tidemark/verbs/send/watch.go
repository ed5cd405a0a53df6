package send

// A run as it goes: the line on stderr, and the page of --watch. Both are handed the
// engine's counters once a second; the engine knows neither.

import (
	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/progress"
	"tidemark/internal/cli/watch"
	"tidemark/internal/hint"
	"tidemark/replay"
)

// watching are the flags of the page.
type watching struct {
	isWatched bool
	port      int
	page      *watch.Page // nil: nobody watches
}

func (w *watching) flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "watch", Usage: "show the run as it goes on a page of this machine, whose address is told", Destination: &w.isWatched},
		&cli.IntFlag{Name: "watch-port", Usage: "the page's `PORT` of 127.0.0.1 (default: a free one)", Destination: &w.port},
	}
}

// open opens the page, where it is asked for, and tells its address.
func (w *watching) open(c *kit.Call) (closed func(), err error) {
	switch {
	case w.port < 0 || w.port > 65535:
		return nil, hint.Misuse("%s: --watch-port %d: not a port", c.Verb, w.port).Hint("leave it out for a free one")
	case !w.isWatched && c.IsGiven("watch-port"):
		return nil, hint.Misuse("%s: --watch-port is for --watch", c.Verb).Hint("give --watch too")
	case !w.isWatched:
		return func() {}, nil
	}
	if w.page, err = watch.Listen(w.port); err != nil {
		return nil, err
	}
	c.Tell("the run as it goes: %s", w.page.Address)
	return w.page.Close, nil
}

// follow has a run shown that is about to begin. asked is for the page alone.
func (w *watching) follow(c *kit.Call, settings *replay.Settings, title string, asked func() watch.Asked) (end func(), err error) {
	judge, err := progress.NewJudge(settings.SLO, settings.WarmUp)
	if err != nil {
		return nil, err
	}
	shown, ended := progress.Replay(c.Messages(), settings.Mode, judge)
	settings.Progress, settings.Watch = shown, judge.Watch()
	if w.page == nil {
		return ended, nil
	}
	w.page.Begin(title, asked(), judge)
	settings.Progress = func(p replay.Progress) { shown(p); w.page.Show(p) }
	return func() { ended(); w.page.End() }, nil
}
