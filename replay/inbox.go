// Messages to the goroutine that owns the schedule. Posting must be cheap and must not wake the event loop for each message:
// the bell rings once until the inbox was emptied, and not at all where the sender knows that the next look is soon enough.

package replay

import "sync"

// message tells the goroutine that owns the schedule what another one has done.
type message struct {
	kind messageKind
	t    *ticket
}

type messageKind int

const (
	isPlanned  messageKind = iota // read from the plan
	isPlanOver                    // there is no more
	isPrepared                    // its connection and its bytes are there, or cannot be had
	isOver                        // it has ended
)

// inbox gathers news for one reader. Its bell is rung once for all that has come since it was looked at.
type inbox struct {
	mu      sync.Mutex
	list    []message
	spare   []message
	bell    func()
	hasRung bool
}

// post adds news; the bell is rung unless somebody says that there is no hurry, once the news are in.
func (b *inbox) post(n message, canWait func() bool) {
	b.mu.Lock()
	b.list = append(b.list, n)
	b.mu.Unlock()
	if canWait == nil || !canWait() {
		b.ring()
	}
}

func (b *inbox) ring() {
	b.mu.Lock()
	bell := b.bell
	if b.hasRung {
		bell = nil
	}
	b.hasRung = b.hasRung || bell != nil
	b.mu.Unlock()
	if bell != nil {
		bell()
	}
}

// listen names the bell; false when there are news already.
func (b *inbox) listen(bell func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bell, b.hasRung = bell, false
	return len(b.list) == 0
}

// take is all news so far, valid until the next call.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	b.list, b.spare = b.spare[:0], b.list
	b.hasRung = false
	return b.spare
}

func (b *inbox) isEmpty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}
