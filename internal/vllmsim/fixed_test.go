package vllmsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simpipe"
)

// TestFixedInstants runs in fake time: every token must come at exactly its
// instant, however many streams there are.
func TestFixedInstants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := small()
		c.Fixed = &Fixed{TTFT: 70 * time.Millisecond, TPOT: 9 * time.Millisecond}
		s := must.Get(New(c))(t)
		l := simpipe.New()
		var work sync.WaitGroup
		work.Go(func() { s.Serve(l) })
		for i := range 20 {
			work.Go(func() {
				time.Sleep(time.Duration(i*13) * time.Millisecond / 10)
				began, at := timed(t, l, 5+i)
				for k, instant := range at {
					if want := began.Add(c.Fixed.TTFT + time.Duration(k)*c.Fixed.TPOT); !instant.Equal(want) {
						t.Errorf("stream %d, token %d: %v late", i, k, instant.Sub(want))
					}
				}
				if len(at) != 5+i {
					t.Errorf("stream %d: %d tokens, want %d", i, len(at), 5+i)
				}
			})
		}
		time.Sleep(time.Second)
		s.Close()
		work.Wait()
	})
}

// TestStepsFollowTheTimeline runs the engine in fake time: a step that began
// where the one before ended, whatever came in between.
func TestStepsFollowTheTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := small()
		// 10 ms a step and 1 ms for each 100 prompt tokens.
		c.StepTime = func(s engine.Step) time.Duration {
			return 10*time.Millisecond + time.Duration(s.PrefillTokens)*10*time.Microsecond
		}
		s := must.Get(New(c))(t)
		l := simpipe.New()
		var work sync.WaitGroup
		work.Go(func() { s.Serve(l) })
		began, at := timed(t, l, 6)
		// One prompt token: the first step lasts 10.01 ms, the others 10.
		for k, instant := range at {
			if want := began.Add(10*time.Millisecond*time.Duration(k+1) + 10*time.Microsecond); !instant.Equal(want) {
				t.Errorf("token %d: %v late", k, instant.Sub(want))
			}
		}
		if len(at) != 6 {
			t.Errorf("%d tokens, want 6", len(at))
		}
		s.Close()
		work.Wait()
	})
}

// TestTheDeskAgreesWithVirtualTime plays the same requests on the simulator, in fake time, and on the engine model's server: an API server
// before the engine, and asynchronous scheduling.
func TestTheDeskAgreesWithVirtualTime(t *testing.T) {
	for name, front := range map[string]engine.Frontend{
		"idle":      {Way: 5 * time.Millisecond, Admission: 2 * time.Millisecond, AdmissionToken: time.Millisecond, Send: time.Millisecond / 4, SendToken: time.Millisecond / 10},
		"the limit": {Admission: time.Millisecond, Send: 11 * time.Millisecond, SendToken: time.Millisecond},
	} {
		c := small()
		c.IsAsync, c.Submit, c.Frontend = true, 3*time.Millisecond, front
		c.StepTime = func(s engine.Step) time.Duration {
			return 10*time.Millisecond + time.Duration(s.PrefillTokens)*100*time.Microsecond
		}
		at := func(i int) time.Duration { // twos and threes that come nearly at once
			return time.Duration(i/5*5*137+i%5/2*300+i%5%2)*time.Millisecond/10 + time.Duration(i)*time.Microsecond
		}
		v := must.Get(engine.NewServer(c.Config, engine.Noise{}, true))(t)
		const requests = 12
		var want [requests][]time.Duration
		for i := 0; i < requests || v.End() != engine.Never; {
			if i < requests && at(i) <= v.End() {
				v.Add(&engine.Job{Prompt: 1, Output: 5 + i, Owner: i}, at(i))
				i++
				continue
			}
			v.Finish(func(job *engine.Job) { want[job.Owner.(int)] = v.TokenTimes(nil, job) })
		}
		synctest.Test(t, func(t *testing.T) {
			s := must.Get(New(c))(t)
			l := simpipe.New()
			var work sync.WaitGroup
			work.Go(func() { s.Serve(l) })
			time.Sleep(time.Second)
			start := time.Now()
			for i := range requests {
				work.Go(func() {
					time.Sleep(at(i))
					_, got := timed(t, l, 5+i)
					first, last := got[0].Sub(start), got[len(got)-1].Sub(start)
					if first != want[i][0] || last != want[i][len(want[i])-1] {
						t.Errorf("%s: stream %d from %v to %v, want %v to %v", name, i, first, last, want[i][0], want[i][len(want[i])-1])
					}
				})
			}
			time.Sleep(2 * time.Second)
			s.Close()
			work.Wait()
		})
	}
}

// timed asks for so many tokens and says when the request went out and when
// each token's chunk came.
func timed(t *testing.T, l *simpipe.Listener, tokens int) (began time.Time, at []time.Time) {
	conn := dial(t, l)
	defer conn.Close()
	body := fmt.Sprintf(`{"prompt":[300],"max_tokens":%d,"ignore_eos":true,"stream":true}`, tokens)
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	began = time.Now()
	in := newLines(conn)
	for {
		line, err := in.next()
		if err != nil {
			t.Error(err)
			return began, at
		}
		if strings.Contains(string(line), `"text":`) {
			at = append(at, time.Now())
		}
		if string(line) == "data: [DONE]" {
			return began, at
		}
	}
}

// TestTruth asks for the true send instants, which no token may precede.
func TestTruth(t *testing.T) {
	c := small()
	c.Fixed = &Fixed{TTFT: 20 * time.Millisecond, TPOT: 2 * time.Millisecond}
	c.RecordTruth = true
	_, url := serve(t, c)
	r := streamed(t, url, `{"prompt":[300],"max_tokens":11,"ignore_eos":true,"stream":true,"return_token_ids":true}`)
	var truth struct {
		ID     string
		First  float64 `json:"first_token_s"`
		Last   float64 `json:"last_token_s"`
		Tokens int
		Chunks int

		Arrived float64 `json:"arrived_unix_s"`
		Body    float64 `json:"body_s"`
		IsWhole bool    `json:"is_whole"`
	}
	within(t, "the truth is kept", func() bool {
		return json.Unmarshal([]byte(get(t, url+"/sim/truth?id="+r.id)), &truth) == nil && truth.ID == r.id
	})
	if age := time.Since(time.UnixMicro(int64(truth.Arrived * 1e6))); age < 40*time.Millisecond || age > time.Minute || truth.Body < 0 || !truth.IsWhole {
		t.Errorf("came %v ago: %+v", age, truth)
	}
	if truth.Tokens != 11 || truth.Chunks != r.chunks || truth.First < 0.020 || truth.Last < 0.040 {
		t.Errorf("got %+v for %+v", truth, r)
	}
	if answer, err := http.Get(url + "/sim/truth?id=none"); err != nil || answer.StatusCode != 404 {
		t.Errorf("an unknown id: %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
}

func TestDueQueueKeepsOrder(t *testing.T) {
	var q dueQueue
	for round := range 3000 {
		q.push(&paced{due: time.Duration(round*10 + 15*(round%2))})
		if round%3 == 0 {
			q.pop()
		}
	}
	for last := time.Duration(0); q.due() != never; {
		x := q.pop()
		if x.due < last {
			t.Fatalf("%v came after %v", x.due, last)
		}
		last = x.due
	}
}
