//go:build !linux

package vllmsim

func newWaker() waker { return newRuntimeWaker() }
