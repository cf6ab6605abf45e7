package engine

import (
	"runtime/metrics"
	"sync"
)

// An allocationCounter counts what calls allocate on the heap, where no other call runs. The runtime
// counts small objects when the span that holds them is used up: a count is exact on average, and off by
// a few spans of 8 KiB for a single call. Exact counts would empty the allocator's caches before a call.
type allocationCounter struct {
	mu      sync.Mutex
	running int
	started int // in all
}

// An allocationCount is the counters' state at the start of a call.
type allocationCount struct {
	started        int
	bytes, objects uint64
}

// begin returns nil if another call runs.
func (c *allocationCounter) begin() *allocationCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
	c.started++
	if c.running > 1 {
		return nil
	}
	count := &allocationCount{started: c.started}
	count.bytes, count.objects = readAllocations()
	return count
}

// end returns what the call has allocated, or nothing if another call ran meanwhile.
func (c *allocationCounter) end(since *allocationCount) (bytes, objects *uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if since == nil || since.started != c.started {
		return nil, nil
	}
	nowBytes, nowObjects := readAllocations()
	nowBytes -= since.bytes
	nowObjects -= since.objects
	return &nowBytes, &nowObjects
}

func readAllocations() (bytes, objects uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
