package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"tidemark/internal/hint"
)

// Command is what starts a server, and how long it may take.
type Command struct {
	Args        []string // the program and its arguments
	StopArgs    []string // run at the end of each Stop: what the process leaves behind, as a container, ends by it; nil: nothing
	Dir         string   // in which they run
	BaseURL     string
	Headers     http.Header // with a key, where the server wants one
	ReadyWithin time.Duration
	StopWithin  time.Duration // after SIGTERM; then comes SIGKILL
	Log         string        // the file that gets what it prints
}

const (
	lookEvery  = 100 * time.Millisecond
	askTimeout = 2 * time.Second
	askLimit   = 32 << 20 // bytes of an answer
)

// gate keeps the user's command back until the start is written down: a start that nobody knows of would hold the port after a kill. Where
// the writer of its input is gone, it ends.
const gate = `read -r go || exit 0; exec "$@" </dev/null`

// Start starts the server and waits until it is ready. known is called before the user's command runs; after it, whoever is killed can find
// the process again. A server that does not get ready is stopped, and is a Failure.
func (c Command) Start(ctx context.Context, known func(Identity) error) (*Process, *Failure, error) {
	if err := c.CheckFree(ctx); err != nil {
		return nil, nil, err
	}
	p, err := c.launch(known)
	if err != nil {
		return nil, nil, err
	}
	failure, err := p.awaitReady(ctx)
	if failure != nil || err != nil {
		return nil, failure, errors.Join(err, p.Stop())
	}
	return p, nil, nil
}

// CheckFree refuses a port that is in use. The load would go to the old server, and its figures would count as those of the new one.
func (c Command) CheckFree(ctx context.Context) error {
	if c.isTaken(ctx) {
		return hint.Errorf("server: an old server is on the port: something listens at %s before this one is started", c.BaseURL).
			Hint("stop it, or give the one that is started another port")
	}
	return nil
}

// isTaken says whether something listens at the server's address.
func (c Command) isTaken(ctx context.Context) bool {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return false
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	conn, err := (&net.Dialer{Timeout: askTimeout}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (c Command) launch(known func(Identity) error) (*Process, error) {
	log, err := os.Create(c.Log)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", gate, "sh"}, c.Args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	open, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	p := &Process{Command: c, since: time.Now(), beforeMiB: gpuMiB(), ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	p.Identity = identify(cmd.Process.Pid)
	go func() {
		p.how = cmd.Wait()
		close(p.ended)
	}()
	if err := known(p.Identity); err != nil {
		open.Close()
		return nil, err
	}
	_, err = io.WriteString(open, "go\n")
	if err != nil {
		err = fmt.Errorf("server: %w", err)
	}
	if closed := open.Close(); !errors.Is(closed, os.ErrClosed) { // of a server that has ended already, Wait has closed it
		err = errors.Join(err, closed)
	}
	return p, err
}

// awaitReady asks until the server answers, its process ends, or its time is over.
func (p *Process) awaitReady(ctx context.Context) (*Failure, error) {
	late := time.NewTimer(p.ReadyWithin)
	defer late.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.ended:
			return p.failure("ended before it was ready, " + p.ending()), nil
		case <-late.C:
			return p.failure("was not ready within " + inWords(p.ReadyWithin)), nil
		case <-tick.C:
		}
		if !p.answers(ctx) {
			continue
		}
		if p.isAnother(ctx) {
			return p.failure("does not answer itself: the server at " + p.BaseURL + " began before it"), nil
		}
		if p.IsAlive() {
			return nil, nil
		}
	}
}

// inWords writes 10m, which Go writes 10m0s.
func inWords(d time.Duration) string {
	if d > 0 && d%time.Minute == 0 {
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return d.String()
}

// answers asks for the health, and where a server has no such path for its models: some list them long before they are ready.
func (c Command) answers(ctx context.Context) bool {
	status, _ := c.get(ctx, "/health")
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		status, _ = c.get(ctx, "/v1/models")
	}
	return status == http.StatusOK
}

var processBegan = regexp.MustCompile(`(?m)^process_start_time_seconds(?:\{[^}]*\})? (\S+)`)

// isAnother says that the process that answers is older than the one that was started, where it tells. Clocks of two sources may be a little apart.
func (p *Process) isAnother(ctx context.Context) bool {
	_, metrics := p.get(ctx, "/metrics")
	said := processBegan.FindSubmatch(metrics)
	if said == nil {
		return false
	}
	began, err := strconv.ParseFloat(string(said[1]), 64)
	return err == nil && began < float64(p.since.Unix())-2
}

// get is the answer to a path; status 0: there was none.
func (c Command) get(ctx context.Context, path string) (status int, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+path, nil)
	if err != nil {
		return 0, nil
	}
	if c.Headers != nil {
		request.Header = c.Headers.Clone()
	}
	request.Close = true // the server is to stop without waiting for an idle connection
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, askLimit)); err != nil {
		return 0, nil
	}
	return answer.StatusCode, body
}
