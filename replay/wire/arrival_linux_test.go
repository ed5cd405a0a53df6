package wire

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/proof/must"
)

// TestReadBearsTheInstantOfItsArrival reads late on purpose: what came bears the instant when it was there.
func TestReadBearsTheInstantOfItsArrival(t *testing.T) {
	server, socket := connected(t)
	begin := time.Now()
	r := NewReceiver(begin)

	write := func() (before, there time.Duration) {
		before = time.Since(begin)
		must.Get(server.Write([]byte("token")))(t)
		unix.Poll([]unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}, -1)
		return before, time.Since(begin)
	}
	// The first socket of a machine that notes arrivals may have to wait for the kernel to begin with it.
	var arrived time.Duration
	for tries := 0; ; tries++ {
		before, there := write()
		for time.Since(begin) < there+time.Millisecond { // the client has something else to do
		}
		r.CompareClocks()
		n, at, isKnown, err := r.Receive(socket, make([]byte, 64))
		if err != nil || n != len("token") {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		if !isKnown && tries < 1000 {
			continue
		}
		if at < before-clockStep || at > there+clockStep {
			t.Errorf("written after %v, there at %v: the read says %v", before, there, at)
		}
		arrived = at
		break
	}

	// The wall clock, which the kernel's notes are in, is set while something waits to be read.
	r.zero += int64(5 * time.Second)
	write()
	r.CompareClocks()
	if _, at, isKnown, _ := r.Receive(socket, make([]byte, 64)); isKnown {
		t.Errorf("the wall clock was set, and yet the read says %v", at)
	}
	before, there := write()
	r.CompareClocks()
	if _, at, isKnown, _ := r.Receive(socket, make([]byte, 64)); isKnown && (at < before-clockStep || at > there+clockStep || at < arrived) {
		t.Errorf("afterwards, written after %v, there at %v: the read says %v", before, there, at)
	}
}

// connected is a connection: one end, and the socket of the other as the event loop has it.
func connected(t *testing.T) (server net.Conn, socket int) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	client := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
	server = must.Get(listener.Accept())(t)
	t.Cleanup(func() { server.Close() })
	bare := must.Get(newConn(client, 0).bare())(t)
	t.Cleanup(bare.Close)
	return server, bare.Socket
}
