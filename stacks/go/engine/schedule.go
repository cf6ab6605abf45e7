package engine

import (
	"fmt"
	"time"
)

// A schedule decides when steps may start. Steps are identified by their index.
type schedule struct {
	sequential []bool // by index: the step starts when every earlier one has ended
	ended      []bool
	prefix     int // every step before this index has ended
	followers  map[int][]int
	limits     []*limit // by index; nil for a step that is never too late
	startNs    int64    // of the run
	endedNs    []int64
}

// A limit is when it is too late to start a step.
type limit struct {
	after int // index of a step, or -1 for the start of the run
	delay time.Duration
}

// A timedStep may start when delay has passed since the run began.
type timedStep struct {
	index int
	delay time.Duration
}

// newSchedule checks the steps and returns those that start with the run.
func newSchedule(steps []Step) (*schedule, []timedStep, error) {
	s := &schedule{
		sequential: make([]bool, len(steps)+1), // one more, so that prefix needs no check
		ended:      make([]bool, len(steps)+1),
		followers:  map[int][]int{},
		limits:     make([]*limit, len(steps)),
		endedNs:    make([]int64, len(steps)),
	}
	var first []timedStep
	indices := make(map[uint32]int, len(steps))
	previous := uint32(0)
	for index, step := range steps {
		if step.ID <= previous {
			return nil, nil, fmt.Errorf("step %d follows step %d: ids must start at 1 and increase", step.ID, previous)
		}
		previous = step.ID
		after, isAfter := step.Start["after"]
		atNs, isAt := step.Start["at_ns"]
		switch {
		case step.Start == nil && index > 0:
			s.sequential[index] = true
		case step.Start == nil, isAfter && after == 0:
			first = append(first, timedStep{index, 0})
		case isAt:
			first = append(first, timedStep{index, duration(atNs)})
		case isAfter:
			earlier, ok := indices[uint32(after)]
			if !ok || after > uint64(step.ID) {
				return nil, nil, fmt.Errorf("step %d waits for step %d, which is not an earlier step", step.ID, after)
			}
			s.followers[earlier] = append(s.followers[earlier], index)
		default:
			return nil, nil, &Unsupported{fmt.Sprintf("start %v", keys(step.Start)), "unknown to this driver"}
		}
		if until := step.Until; until != nil {
			earlier, ok := indices[until.After]
			if until.After == 0 {
				earlier = -1
			} else if !ok {
				return nil, nil, fmt.Errorf("step %d has a limit after step %d, which is not an earlier step", step.ID, until.After)
			}
			s.limits[index] = &limit{earlier, duration(until.Ns)}
		}
		indices[step.ID] = index
	}
	return s, first, nil
}

// begin records the start of the run, in ns of CLOCK_MONOTONIC.
func (s *schedule) begin(nowNs int64) { s.startNs = nowNs }

// isLate reports whether it is too late to start the step at index.
func (s *schedule) isLate(index int, nowNs int64) bool {
	limit := s.limits[index]
	switch {
	case limit == nil:
		return false
	case limit.after < 0:
		return nowNs-s.startNs > int64(limit.delay)
	}
	return s.ended[limit.after] && nowNs-s.endedNs[limit.after] > int64(limit.delay)
}

// end records that the step at index has ended and returns the steps that may start now.
func (s *schedule) end(index int, nowNs int64) []int {
	s.ended[index], s.endedNs[index] = true, nowNs
	ready := s.followers[index]
	for s.ended[s.prefix] {
		s.prefix++
		if s.sequential[s.prefix] {
			ready = append(ready, s.prefix)
		}
	}
	return ready
}

func keys(rule map[string]uint64) (names []string) {
	for name := range rule {
		names = append(names, name)
	}
	return names
}
