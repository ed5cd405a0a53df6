package vllmsim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Server is one simulated vLLM.
type Server struct {
	cfg          Config
	driver       driver
	metrics      *metrics
	begin        time.Time
	fingerprint  []byte // the JSON string
	textRequests atomic.Uint64
	answering    atomic.Int64 // requests for text in progress, for /load

	work      sync.WaitGroup // connections and drains
	driverRun sync.WaitGroup

	mu          sync.Mutex
	isStarted   bool
	isClosed    bool
	listeners   map[net.Listener]bool
	connections map[*connection]bool

	truthMu sync.Mutex
	truths  []truth
}

// shutdownGrace is how long Close waits for clients to read the ends of their
// streams.
const shutdownGrace = time.Second

// New makes a server. Nothing runs before Serve.
func New(c Config) (*Server, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	h := fnv.New32a()
	h.Write([]byte(cfg.Model))
	s := &Server{
		cfg: cfg, begin: time.Now(), metrics: newMetrics(cfg),
		fingerprint: fmt.Appendf(nil, `"vllm-%s-%08x"`, cfg.Version, h.Sum32()),
		listeners:   map[net.Listener]bool{}, connections: map[*connection]bool{},
	}
	if cfg.Fixed != nil {
		s.driver = &pacer{server: s, fixed: *s.cfg.Fixed}
	} else {
		s.driver = newStepper(s)
	}
	return s, nil
}

// sinceStart is the server's clock: monotonic, from New on.
func (s *Server) sinceStart() time.Duration { return time.Since(s.begin) }

// Serve answers on l until Close, and then returns net.ErrClosed. It may be
// called for several listeners. On TCP and Unix sockets a kernel timer keeps
// deadlines, on others (net.Pipe, fake time) the runtime's timer.
func (s *Server) Serve(l net.Listener) error {
	if err := s.start(l); err != nil {
		return err
	}
	defer s.work.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			if s.closed() {
				return net.ErrClosed
			}
			var temporary interface{ Temporary() bool }
			if errors.As(err, &temporary) && temporary.Temporary() {
				time.Sleep(10 * time.Millisecond) // out of file descriptors until another connection ends
				continue
			}
			return fmt.Errorf("simulator: %w", err)
		}
		s.handle(conn)
	}
}

func (s *Server) start(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		l.Close()
		return net.ErrClosed
	}
	s.listeners[l] = true
	s.work.Add(1)
	if !s.isStarted {
		s.isStarted = true
		s.startDriver(isKernelSocket(l))
	}
	return nil
}

func isKernelSocket(l net.Listener) bool {
	switch l.Addr().(type) {
	case *net.TCPAddr, *net.UnixAddr:
		return true
	}
	return false
}

func (s *Server) startDriver(isPrecise bool) {
	if isPrecise {
		s.driver.wakeBy(newWaker)
	} else {
		s.driver.wakeBy(newRuntimeWaker)
	}
	s.driverRun.Go(s.driver.run)
}

func (s *Server) handle(conn net.Conn) {
	c := newConnection(s, conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		conn.Close()
		return
	}
	s.connections[c] = true
	s.work.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.connections, c)
		s.mu.Unlock()
	})
}

func (s *Server) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isClosed
}

// Close stops the server as vLLM stops on SIGTERM: streams in progress end with
// finish_reason "abort", then everything is closed. When it returns, none of
// the server's goroutines is left.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.isClosed = true
	for l := range s.listeners {
		l.Close()
	}
	isStarted := s.isStarted
	s.mu.Unlock()

	if isStarted {
		s.driver.close()
		s.driverRun.Wait()
	}
	s.mu.Lock()
	for c := range s.connections {
		c.closeSoon(shutdownGrace)
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}
