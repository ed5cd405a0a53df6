//go:build !linux

package vllmsim

func newAlarm() alarm { return newTimerAlarm() }
