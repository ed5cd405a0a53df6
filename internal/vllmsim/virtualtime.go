package vllmsim

import (
	"errors"
	"time"
)

// Job is a request in virtual time: when it arrives, and how many tokens it
// brings and asks for.
type Job struct {
	At             time.Duration
	Prompt, Output int
}

// Timing says when a job's tokens came, on the clock of Job.At.
type Timing struct{ First, Last time.Duration }

// Walk plays jobs, which must be in order of arrival, through the scheduler in
// virtual time: the clock jumps from step to step, so that an hour of traffic
// takes milliseconds. A step starts as soon as the one before has ended, or at
// the next arrival when nothing is running. Jobs that arrive during a step join
// the next one. A token's instant is the end of its step.
//
// A job has lengths but no content, so there is no prefix cache.
func Walk(cfg Config, jobs []Job) ([]Timing, error) {
	cfg.EnablePrefixCaching = false
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.StepTime == nil {
		return nil, errors.New("simulator: a walk needs StepTime")
	}
	timings := make([]Timing, len(jobs))
	sched := newScheduler(cfg)
	clock, next := time.Duration(0), 0
	for next < len(jobs) || !sched.isIdle() {
		if sched.isIdle() {
			clock = max(clock, jobs[next].At)
		}
		for ; next < len(jobs) && jobs[next].At <= clock; next++ {
			job := jobs[next]
			if job.Prompt < 1 || job.Output < 1 || job.Prompt+job.Output > cfg.MaxModelLen {
				return nil, errors.New("simulator: a job of no prompt, no output, or more than MaxModelLen")
			}
			sched.add(&sequence{prompt: job.Prompt, output: job.Output, choice: next})
		}
		b := sched.schedule()
		clock += max(cfg.StepTime(b.step), 0)
		for _, q := range sched.complete(b) {
			if q.generated == 1 {
				timings[q.choice].First = clock
			}
			timings[q.choice].Last = clock
		}
	}
	return timings, nil
}
