package wire

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/proof/must"
)

// vLLM closes an idle connection after 5 s, and a request that is being written then is lost: a connection is used again just
// before 3 s, and never from 3 s on.
func TestAConnectionIsIdleForThreeSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialled int
		p := NewPool("host:1", func(context.Context, string, string) (net.Conn, error) {
			dialled++
			client, server := net.Pipe()
			t.Cleanup(func() { server.Close() })
			return client, nil
		}, nil, time.Minute, false)
		defer p.Close()
		take := func() *Conn {
			c := must.Get(p.Take(t.Context()))(t)
			return c
		}
		first := take()
		p.Put(first)
		time.Sleep(3*time.Second - time.Nanosecond)
		if c := take(); c != first || dialled != 1 {
			t.Errorf("after less than 3 s: %d connections were made, want the first again", dialled)
		}
		p.Put(first)
		time.Sleep(3 * time.Second)
		second := take()
		if second == first || dialled != 2 {
			t.Errorf("after 3 s: %d connections were made, want a second", dialled)
		}

		// An old connection at the bottom is closed when a later one comes back, one that is young enough is not.
		third := take()
		p.Put(third)
		time.Sleep(3*time.Second - time.Nanosecond)
		p.Put(second)
		if len(p.idle) != 2 {
			t.Errorf("%d connections are kept, want both", len(p.idle))
		}
		time.Sleep(time.Nanosecond)
		p.Put(take())
		if len(p.idle) != 1 {
			t.Errorf("%d connections are kept, want the younger one", len(p.idle))
		}
	})
}
