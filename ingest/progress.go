package ingest

import (
	"sync"
)

// meter adds up how far all files have been read. Workers report to it at the same
// time.
type meter struct {
	mutex sync.Mutex
	told  func(Progress)
	sum   Progress
}

// of is the meter of one file: it is told how far that file is, and adds what is
// new since it was told before.
func (m *meter) of() func(bytes, rows int64) {
	if m.told == nil {
		return nil
	}
	var bytesBefore, rowsBefore int64
	return func(bytes, rows int64) {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.sum.Bytes += bytes - bytesBefore
		m.sum.Rows += rows - rowsBefore
		bytesBefore, rowsBefore = bytes, rows
		m.told(m.sum)
	}
}

// ended counts a file as done.
func (m *meter) ended() {
	if m.told == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sum.FilesDone++
	m.told(m.sum)
}
