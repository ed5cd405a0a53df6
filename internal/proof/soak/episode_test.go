//go:build soak

package soak

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/vllmsim/simprocess"
)

// episode is one replay in which one thing goes wrong.
type episode struct {
	shop    *shop
	trouble trouble
	dir     string
	rnd     *rand.Rand

	server *simprocess.Process
	proxy  *proxy
	client *exec.Cmd
	output bytes.Buffer
	ended  chan error
	begin  time.Time // of the client

	// what the trouble did, for its check
	struck        time.Time // when
	over          time.Time
	folder        folder
	truths        []simprocess.Truth
	exit          int
	wrongs        []string
	truthsWereCut bool // the server that kept them was killed
}

func (e *episode) wrong(format string, args ...any) {
	e.wrongs = append(e.wrongs, fmt.Sprintf(format, args...))
}

// mostEpisode is more than any episode may take: 3 s of requests, a freeze, the taking in.
const mostEpisode = 90 * time.Second

func (w *shop) episode(t *testing.T, sum *summary, rnd *rand.Rand, n int) {
	e := &episode{shop: w, rnd: rnd, trouble: draw(rnd), dir: filepath.Join(w.scratch, fmt.Sprint("episode-", n)), ended: make(chan error, 1)}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(e.dir)
	if err := e.play(); err != nil {
		t.Errorf("episode %d, %s: %v", n, e.trouble.name, err)
		return
	}
	e.check()
	sum.add(e.trouble.name, e.folder, len(e.wrongs) > 0)
	if len(e.wrongs) == 0 {
		return
	}
	for _, wrong := range e.wrongs {
		t.Errorf("episode %d, %s: %s", n, e.trouble.name, wrong)
	}
	t.Logf("episode %d, %s, exit %d, said: %s", n, e.trouble.name, e.exit, e.output.Bytes())
	if w.keep != "" {
		os.CopyFS(filepath.Join(w.keep, fmt.Sprint(n)), os.DirFS(e.dir))
	}
}

// play runs the replay from start to end with its trouble.
func (e *episode) play() (err error) {
	if e.server, err = startServer("127.0.0.1:0"); err != nil {
		return err
	}
	defer func() { e.server.Stop() }()
	target := e.server.Address
	if e.trouble.mischief != nil {
		if e.proxy, err = startProxy(target, e.trouble.mischief(e.rnd)); err != nil {
			return err
		}
		defer e.proxy.close()
		target = e.proxy.address()
	}
	e.client = exec.Command(e.shop.tidemark, "replay", e.shop.plan, "--base-url", "http://"+target, "--model", modelName,
		"--runs", filepath.Join(e.dir, "runs"), "--warehouse", filepath.Join(e.dir, "w.duckdb"), "--max-lateness", "1m", "--max-stall", "1m")
	e.client.Dir = e.dir
	e.client.Stdout, e.client.Stderr = &e.output, &e.output
	e.begin = time.Now()
	if err := e.client.Start(); err != nil {
		return err
	}
	go func() { e.ended <- e.client.Wait() }()
	if e.trouble.strike != nil {
		if err := e.awaitRequests(1 + e.rnd.IntN(planned/2)); err != nil {
			return e.giveUp(err)
		}
		time.Sleep(time.Duration(e.rnd.IntN(20)) * time.Millisecond) // somewhere between two requests
		if err := e.trouble.strike(e); err != nil {
			return e.giveUp(err)
		}
	}
	select {
	case <-e.ended:
	case <-time.After(mostEpisode):
		return e.giveUp(errors.New("it did not end"))
	}
	e.exit = e.client.ProcessState.ExitCode()
	if !e.truthsWereCut {
		if e.truths, err = e.server.Truths(); err != nil {
			return err
		}
	}
	e.folder, err = readFolder(filepath.Join(e.dir, "runs"))
	return err
}

// awaitRequests returns when the server has answered so many.
func (e *episode) awaitRequests(n int) error {
	for deadline := time.Now().Add(mostEpisode); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-e.ended:
			return fmt.Errorf("the client ended before anything happened to it: %v: %s", err, e.output.Bytes())
		default:
		}
		if all, err := e.server.Truths(); err == nil && len(all) >= n {
			return nil
		}
	}
	return errors.New("no requests came")
}

func (e *episode) giveUp(why error) error {
	e.client.Process.Kill()
	return fmt.Errorf("%w; it said: %s", why, e.output.Bytes())
}

// check is what must hold after every episode, and then what this trouble must lead to.
func (e *episode) check() {
	e.wrongs = append(e.wrongs, e.folder.wrongs()...)
	if e.folder.planned != planned {
		e.wrong("the plan has %d requests, want %d", e.folder.planned, planned)
	}
	argv := []string{"ingest", e.folder.path, "--warehouse", filepath.Join(e.dir, "again.duckdb"), "--quiet"}
	if out, err := exec.Command(e.shop.tidemark, argv...).CombinedOutput(); err != nil {
		e.wrong("it cannot be taken in: %v: %s", err, out)
	}
	if e.trouble.check != nil {
		e.trouble.check(e)
	}
}

func (e *episode) sendSignal(s syscall.Signal) error {
	e.struck = time.Now()
	return e.client.Process.Signal(s)
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
