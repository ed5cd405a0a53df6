package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// prepareCache does what was asked for with the servers' prefix caches.
func (a *asker) prepareCache(ctx context.Context, asked string, r *cacheRecord) (salt plan.CacheSalt, err error) {
	r.Asked, r.Method = asked, "none"
	switch asked {
	case cacheCold:
		r.Method, salt = "salt_per_request", plan.CacheSalt{Stem: newSalt(), IsEach: true}
	case cacheReset:
		r.Method = "reset"
		for _, t := range a.targets {
			why, err := a.resetCache(ctx, t)
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
func (a *asker) resetCache(ctx context.Context, t target) (why string, err error) {
	for range resetTries {
		status, body, err := a.post(ctx, t.at("/reset_prefix_cache"), nil)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil { // gateways hang up on paths that they do not let through
			return fmt.Sprintf("%s gives no answer to /reset_prefix_cache", t.shown()), nil
		}
		if status != http.StatusOK {
			return fmt.Sprintf("%s answers %d to /reset_prefix_cache", t.shown(), status), nil
		}
		said := struct {
			Success *bool `json:"success"` // older versions say nothing
		}{}
		_ = json.Unmarshal(body, &said)
		if said.Success == nil || *said.Success {
			return "", nil
		}
		if !host.TimerSleep(ctx, drainEvery) {
			return "", ctx.Err()
		}
	}
	return fmt.Sprintf("%s could not reset its prefix cache: something still holds blocks of it", t.shown()), nil
}

// newSalt is 128 bits, so that no other run ever had it.
func newSalt() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
