package queueing

import (
	"cmp"
	"math"
	"slices"

	"tidemark/internal/heap"
)

// Load is what a queueing formula is asked about. A cv is a coefficient of variation: standard deviation over mean.
type Load struct {
	RatePerS  float64 // of arrivals
	ServiceS  float64 // mean, of one request on one server
	Servers   int
	ArrivalCV float64 // of the gaps between arrivals; 1: Poisson
	ServiceCV float64 // of the service times; 1: exponential, 0: all equal
}

// Utilization is offered load over capacity.
func (l Load) Utilization() float64 { return l.RatePerS * l.ServiceS / float64(l.Servers) }

// At is the load at another utilization.
func (l Load) At(utilization float64) Load {
	l.RatePerS = utilization * l.CapacityPerS()
	return l
}

// CapacityPerS is how many requests a second the servers can do.
func (l Load) CapacityPerS() float64 { return float64(l.Servers) / l.ServiceS }

// InServices is a wait in service times.
func (l Load) InServices(waitS float64) float64 { return waitS / l.ServiceS }

// GrowthPerS is by how many requests a second the backlog grows, above capacity.
func (l Load) GrowthPerS() float64 { return l.RatePerS - l.CapacityPerS() }

// Served is the result of serving a list of arrivals, in seconds.
type Served struct {
	MeanWaitS, P99WaitS float64
	MeanTimeS           float64 // wait and service
	DoneS               float64 // when the last was done, from the first arrival
	WaitingRatio        float64 // share of the requests that waited at all
}

// PerS is how many of n requests were done a second.
func (s Served) PerS(n int) float64 { return float64(n) / s.DoneS }

// ServeAtOnce serves requests of one instant, each of which takes as long.
func ServeAtOnce(n int, serviceS float64, servers int) Served {
	services := make([]float64, n)
	for i := range services {
		services[i] = serviceS
	}
	return Serve(make([]float64, n), services, servers)
}

// Serve serves requests in order of arrival by servers that take one request at a time. arrivals must rise. It needs no steady state
// and no distribution, so bursts and ramps are counted as they were recorded.
func Serve(arrivals, services []float64, servers int) Served {
	free := heap.New(cmp.Less[float64]) // when each server is free again
	for range servers {
		free.Add(math.Inf(-1))
	}
	waits := make([]float64, len(arrivals))
	var served Served
	for i, arrival := range arrivals {
		begin := max(arrival, free.First())
		done := begin + services[i]
		served.add(waits, i, begin-arrival, services[i])
		served.DoneS = max(served.DoneS, done-arrivals[0])
		free.Replace(done)
	}
	return served.of(waits)
}

// ServeBatches serves requests by one server that takes up to size of the waiting ones whenever it is free. A batch takes batchS
// seconds however full it is, which is roughly how decoding behaves below the roofline's ridge.
func ServeBatches(arrivals []float64, size int, batchS float64) Served {
	waits := make([]float64, len(arrivals))
	var served Served
	free := math.Inf(-1)
	for i := 0; i < len(arrivals); {
		begin := max(arrivals[i], free)
		free = begin + batchS
		for taken := 0; taken < size && i < len(arrivals) && arrivals[i] <= begin; taken++ {
			served.add(waits, i, begin-arrivals[i], batchS)
			i++
		}
		served.DoneS = free - arrivals[0]
	}
	return served.of(waits)
}

// add counts the i-th of len(waits) requests.
func (s *Served) add(waits []float64, i int, waitS, serviceS float64) {
	waits[i] = waitS
	if waitS > 0 {
		s.WaitingRatio += 1 / float64(len(waits))
	}
	s.MeanWaitS += waitS / float64(len(waits))
	s.MeanTimeS += (waitS + serviceS) / float64(len(waits))
}

// of adds the p99 by rank: the 99th of 100. It sorts waits.
func (s Served) of(waits []float64) Served {
	slices.Sort(waits)
	if len(waits) > 0 {
		s.P99WaitS = waits[int(math.Ceil(0.99*float64(len(waits))))-1]
	}
	return s
}
