package ingest

import (
	"sync"
)

// meter adds up how far all files have been read.
type meter struct {
	mutex sync.Mutex
	told  func(Progress)
	sum   Progress
}

// of is the progress of one file: it is told how far that is, and adds what came
// since it was told before.
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

func (m *meter) ended() {
	if m.told == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sum.FilesDone++
	m.told(m.sum)
}
