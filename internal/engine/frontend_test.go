package engine

import (
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

func playServer(t *testing.T, cfg Config, jobs []*Job, at []time.Duration) map[*Job][]time.Duration {
	t.Helper()
	s := must.Get(NewServer(cfg, Noise{}, true))(t)
	tokens := map[*Job][]time.Duration{}
	for next := 0; next < len(jobs) || s.End() != Never; {
		if next < len(jobs) && at[next] <= s.End() {
			s.Add(jobs[next], at[next])
			next++
			continue
		}
		s.Finish(func(job *Job) { tokens[job] = s.TokenTimes(nil, job) })
	}
	return tokens
}

// Steps of 10 ms behind a thread that takes in a request in 2 ms and 10 us a token, and sends a step in 1 ms and a token in 0.5 ms. A request
// of 100 tokens needs 5 ms to the thread, is in the engine at 8 ms, and has its tokens 1.5 ms after each step: 19.5, 29.5, 39.5. One of
// 50 that is sent at 15 ms reaches the thread at 20, while that is free, and the engine at 22.5: it joins the step from 28 to 38 and shares the
// thread with the first one's last token, so both come 2 ms after the step, at 40; it goes on alone to 49.5.
func TestAFrontendByHand(t *testing.T) {
	ms := time.Millisecond
	cfg := Config{StepTime: func(Step) time.Duration { return 10 * ms }, Frontend: Frontend{
		Way: 5 * ms, Admission: 2 * ms, AdmissionToken: 10 * time.Microsecond, Send: ms, SendToken: ms / 2,
	}}
	jobs := []*Job{{Prompt: 100, Output: 3}, {Prompt: 50, Output: 2}}
	tokens := playServer(t, cfg, jobs, []time.Duration{0, 15 * ms})
	for i, want := range [][]time.Duration{{19500, 29500, 40000}, {40000, 49500}} {
		for k := range want {
			want[k] *= time.Microsecond
		}
		if got := tokens[jobs[i]]; !slices.Equal(got, want) || jobs[i].First != want[0] || jobs[i].Last != want[len(want)-1] {
			t.Errorf("job %d: got %v, first %v, last %v; want %v", i, got, jobs[i].First, jobs[i].Last, want)
		}
	}
}

// Four requests come at once to a thread that takes twice 1 ms for each, and a fifth at 3.5 ms. It has read the four after 4 ms, and takes them in
// together from then on, the first three, the fifth's first time, and the fourth: at 9 ms the engine has the four, at 10 the fifth. The step from 9
// to 19 has the four, and the next one the fifth.
func TestWhoWaitsTogetherIsHandedOnTogether(t *testing.T) {
	ms := time.Millisecond
	cfg := Config{StepTime: func(Step) time.Duration { return 10 * ms }, Frontend: Frontend{Admission: 2 * ms}}
	jobs := []*Job{{Prompt: 10, Output: 1}, {Prompt: 10, Output: 1}, {Prompt: 10, Output: 1}, {Prompt: 10, Output: 2}, {Prompt: 10, Output: 1}}
	playServer(t, cfg, jobs, []time.Duration{0, 0, 0, 0, 3*ms + ms/2})
	for i, want := range []time.Duration{19 * ms, 19 * ms, 19 * ms, 19 * ms, 29 * ms} {
		if jobs[i].First != want {
			t.Errorf("request %d has its first token at %v, want %v", i, jobs[i].First, want)
		}
	}
}

// A thread that takes 30 ms to send what the engine makes in 10 falls behind by 20 ms with each token.
func TestAFrontendThatIsTheLimit(t *testing.T) {
	ms := time.Millisecond
	cfg := Config{StepTime: func(Step) time.Duration { return 10 * ms }, Frontend: Frontend{Send: 30 * ms}}
	job := &Job{Prompt: 10, Output: 5}
	got := playServer(t, cfg, []*Job{job}, []time.Duration{0})[job]
	if want := []time.Duration{40 * ms, 70 * ms, 100 * ms, 130 * ms, 160 * ms}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Under asynchronous scheduling the step after the one that works was put together 3 ms after that began: who comes at 12 ms, 2 ms into the
// second step, still joins the third; who comes at 15 ms joins the fourth.
func TestLateRequestsMissAStep(t *testing.T) {
	ms := time.Millisecond
	cfg := Config{StepTime: func(Step) time.Duration { return 10 * ms }, IsAsync: true, Submit: 3 * ms}
	for at, want := range map[time.Duration]time.Duration{12 * ms: 30 * ms, 15 * ms: 40 * ms} {
		jobs := []*Job{{Prompt: 10, Output: 20}, {Prompt: 10, Output: 2}}
		playServer(t, cfg, jobs, []time.Duration{0, at})
		if jobs[1].First != want {
			t.Errorf("who comes at %v has its first token at %v, want %v", at, jobs[1].First, want)
		}
	}
}

// Two API servers share 10 requests: each sends 5 tokens, and takes in half of the prompts.
func TestSeveralFrontendsShareTheWork(t *testing.T) {
	ms := time.Millisecond
	f := Frontend{Servers: 2, Admission: 4 * ms, AdmissionToken: ms / 10, Send: ms, SendToken: ms / 2, SendCrowd: ms / 10}
	if got, want := f.Sends(10), ms+5*(ms/2+4*ms/10); got != want {
		t.Errorf("sends in %v, want %v", got, want)
	}
	if got, want := f.Admits(20), 3*ms; got != want {
		t.Errorf("takes in in %v, want %v", got, want)
	}
}
