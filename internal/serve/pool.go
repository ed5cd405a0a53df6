package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/serve/worker"
)

// pool keeps processes that have the newest snapshot open and wait for a query. Each serves one and ends.
type pool struct {
	snapshots *snapshots
	setup     worker.Setup
	want      int // processes that wait
	tell      func(format string, args ...any)

	ctx        context.Context // of those that are started ahead
	cancel     context.CancelFunc
	background sync.WaitGroup

	mu       sync.Mutex
	idle     []*process
	starting int
	told     string // why the newest file is not served
	isClosed bool
}

// process is a worker as the server sees it.
type process struct {
	of      *snapshot
	cmd     *exec.Cmd
	to      io.WriteCloser
	pipe    *os.File
	from    *bufio.Reader
	said    *tail
	buffer  []byte
	stirred chan struct{} // closed when it says something after being ready, or dies
}

func newPool(s *snapshots, setup worker.Setup, want int, tell func(string, ...any)) *pool {
	p := &pool{snapshots: s, setup: setup, want: want, tell: tell}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	s.prove = p.prove
	return p
}

// prove opens a snapshot in a process, which then waits with the others for a query.
func (p *pool) prove(of *snapshot) error {
	ctx, cancel := context.WithTimeout(p.ctx, longestStart)
	defer cancel()
	o, err := p.startOn(of, false)
	if err == nil {
		err = p.awaitReady(ctx, o)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, o)
	return nil
}

const longestStart = 30 * time.Second // of a process; beyond that the machine is not well

// start starts a process and waits until it has the newest snapshot open.
func (p *pool) start(ctx context.Context, isReporter bool) (*process, error) {
	for {
		o, err := p.startOn(p.newest(), isReporter)
		if errors.Is(err, errReplaced) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("start a worker: %w", err)
		}
		return o, p.awaitReady(ctx, o)
	}
}

// newest is the newest snapshot that can be read. Why a newer one cannot is told once.
func (p *pool) newest() *snapshot {
	newest, err := p.snapshots.newest()
	p.mu.Lock()
	defer p.mu.Unlock()
	told := ""
	if err != nil {
		told = err.Error()
	}
	if told != "" && told != p.told {
		p.tell("the last snapshot is still served: %v", err)
	}
	p.told = told
	return newest
}

func (p *pool) startOn(of *snapshot, isReporter bool) (*process, error) {
	setup := p.setup
	setup.IsReporter = isReporter
	environment, err := setup.Environment()
	if err != nil {
		return nil, err
	}
	pipe, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	o := &process{of: of, cmd: exec.Command(self()), pipe: pipe, said: &tail{}, stirred: make(chan struct{})}
	o.cmd.Args = os.Args[:1]
	o.cmd.Env = environment
	o.cmd.Dir = "/"
	o.cmd.Stdout, o.cmd.Stderr = stdout, o.said
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is the server's
	o.cmd.WaitDelay = time.Second
	o.from = bufio.NewReaderSize(pipe, 1<<18)
	if o.to, err = o.cmd.StdinPipe(); err != nil {
		pipe.Close()
		return nil, err
	}
	err = p.snapshots.with(of, func(file *os.File) error {
		o.cmd.ExtraFiles = []*os.File{file} // number 3
		return o.cmd.Start()
	})
	if err != nil {
		pipe.Close()
		o.to.Close()
		return nil, err
	}
	return o, nil
}

// awaitReady ends a process that does not come up.
func (p *pool) awaitReady(ctx context.Context, o *process) error {
	stop := context.AfterFunc(ctx, func() { _ = o.cmd.Process.Kill() })
	defer stop()
	kind, payload, err := o.next()
	if err == nil && kind == worker.FrameError {
		err = fmt.Errorf("%w: %w", errNotOpened, failureIn(payload))
	}
	if err != nil {
		p.end(o)
		return fmt.Errorf("%w: %w %s", errNotStarted, err, o.said.firstLine())
	}
	go func() {
		_, _ = o.from.Peek(1)
		close(o.stirred)
	}()
	return nil
}

var errNotStarted = errors.New("a worker did not start")

// self is this program, also where an upgrade has replaced its file.
func self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// take gives a process with the newest snapshot open: one that waits, or a new one.
func (p *pool) take(ctx context.Context) (*process, error) {
	newest := p.newest()
	for {
		o := p.pop()
		switch {
		case o == nil:
			return p.start(ctx, false)
		case o.of == newest && o.isWaiting():
			return o, nil
		}
		p.end(o)
	}
}

func (p *pool) pop() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	o := p.idle[0]
	p.idle = p.idle[1:]
	return o
}

// refill starts what is missing, in the background, and ends what has an old snapshot open.
func (p *pool) refill() {
	newest := p.newest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return
	}
	var kept []*process
	for _, o := range p.idle {
		if o.of == newest && o.isWaiting() {
			kept = append(kept, o)
		} else {
			p.background.Go(func() { p.end(o) })
		}
	}
	p.idle = kept
	for len(p.idle)+p.starting < p.want {
		p.starting++
		p.background.Go(p.startAhead)
	}
}

// startAhead adds a process to those that wait.
func (p *pool) startAhead() {
	o, err := p.start(p.ctx, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	switch {
	case err != nil && p.ctx.Err() == nil:
		p.tell("%v", err)
	case err == nil:
		p.idle = append(p.idle, o)
	}
}

// end kills the process and waits until it is gone.
func (p *pool) end(o *process) {
	_ = o.cmd.Process.Kill()
	o.to.Close()
	_ = o.cmd.Wait()
	o.pipe.Close()
}

// close ends all that wait. Queries have ended before.
func (p *pool) close() {
	p.mu.Lock()
	p.isClosed = true
	p.mu.Unlock()
	p.cancel()
	p.background.Wait()
	for _, o := range p.idle {
		p.end(o)
	}
	p.idle = nil
}

func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// isWaiting reports that the process has said nothing since it was ready: one that died has.
func (o *process) isWaiting() bool {
	select {
	case <-o.stirred:
		return false
	default:
		return true
	}
}

// send gives the process its errand.
func (o *process) send(errand worker.Errand) error {
	line, err := json.Marshal(errand)
	if err != nil {
		return err
	}
	_, err = o.to.Write(append(line, '\n'))
	return err
}

// next is the next frame. Its payload is valid until the next call.
func (o *process) next() (kind byte, payload []byte, err error) {
	kind, o.buffer, err = worker.ReadFrame(o.from, o.buffer)
	return kind, o.buffer, err
}

// failureIn is what a frame of failure says.
func failureIn(payload []byte) error {
	failure := &worker.Failure{}
	if err := json.Unmarshal(payload, failure); err != nil {
		return err
	}
	return failure
}

// tail keeps the beginning of what a worker says on stderr, which is nothing unless it crashes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10 // bytes
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), most-len(t.text))]...)
	return len(p), nil
}

// firstLine is for the server's own messages; clients never see it.
func (t *tail) firstLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := bytes.Cut(bytes.TrimSpace(t.text), []byte("\n"))
	return escape.Controls(string(line), "")
}
