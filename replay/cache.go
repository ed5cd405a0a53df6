// The servers' prefix caches before a run. A replay sends the same tokens each time, so a second run would find the first
// one's blocks and look faster. "reset" empties the cache by the engine's own request, and where that cannot be done a salt
// for the whole run keeps its blocks apart. "cold" gives each request a salt of its own, so that nothing is shared at all.

package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"

	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// prepareCache does what was asked for with the servers' prefix caches.
func (a *controlClient) prepareCache(ctx context.Context, asked string, servers []Server, r *cacheRecord) (salt plan.CacheSalt, err error) {
	r.Asked, r.Method = asked, "none"
	switch asked {
	case cacheCold:
		r.Method, salt = "salt_per_request", plan.CacheSalt{Stem: newSalt(), IsEach: true}
	case cacheReset:
		r.Method = "reset"
		for _, server := range servers {
			why, err := a.resetCache(ctx, server)
			if err != nil {
				return salt, err
			}
			if why != "" {
				r.Method, salt = "salt_per_run", plan.CacheSalt{Stem: newSalt()}
				r.Note = why + ": a salt keeps the run apart, where the server knows cache_salt"
				break
			}
		}
	}
	r.Salt = salt.Stem
	return salt, nil
}

// resetTries is how often a reset is asked for that the server could not do: it holds blocks of a request a moment longer.
const resetTries = 5

// resetCache empties one server's prefix cache, or says why that cannot be done.
func (a *controlClient) resetCache(ctx context.Context, server Server) (why string, err error) {
	where, reset := server.target.shown(), server.engine.Reset
	if reset.Path == "" {
		return where + " is no server whose prefix cache can be emptied by a known request", nil
	}
	for range resetTries {
		status, body, err := a.post(ctx, server.target.at(reset.Path), nil)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil: // gateways hang up on paths that they do not let through
			return fmt.Sprintf("%s gives no answer to %s", where, reset.Path), nil
		case reset.IsBusy(status, body):
			if !host.TimerSleep(ctx, drainEvery) {
				return "", ctx.Err()
			}
		case status != http.StatusOK:
			return fmt.Sprintf("%s answers %d to %s", where, status, reset.Path), nil
		default:
			return "", nil
		}
	}
	return fmt.Sprintf("%s could not reset its prefix cache: something still holds blocks of it", where), nil
}

// newSalt is 128 bits, so that no other run ever had it.
func newSalt() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
