package replay

import "sync"

// news is what the goroutine that has the schedule is told by others.
type news struct {
	what what
	t    *ticket
}

type what int

const (
	isPlanned  what = iota // read from the plan
	isPlanOver             // there is no more
	isPrepared             // its connection and its bytes are there, or cannot be had
	isOver                 // it has ended
)

// inbox gathers news for one reader. Its bell is rung once for all that has come since it was looked at.
type inbox struct {
	mu      sync.Mutex
	list    []news
	spare   []news
	bell    func()
	hasRung bool
}

// post adds news; the bell is rung unless somebody says that there is no hurry, once the news are in.
func (b *inbox) post(n news, canWait func() bool) {
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
func (b *inbox) take() []news {
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
