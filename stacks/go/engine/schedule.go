package engine

import (
	"fmt"
	"time"
)

// A schedule says which step may start when. Steps are named by their place.
type schedule struct {
	sequential []bool // by place: it starts when every earlier step has ended
	ended      []bool
	prefix     int // all before this place have ended
	followers  map[int][]int
}

// A timed step may start so long after the run began.
type timed struct {
	place int
	delay time.Duration
}

// newSchedule checks the steps and returns those that start with the run.
func newSchedule(steps []Step) (*schedule, []timed, error) {
	s := &schedule{
		sequential: make([]bool, len(steps)+1), // one more, so that prefix needs no check
		ended:      make([]bool, len(steps)+1),
		followers:  map[int][]int{},
	}
	var first []timed
	places := make(map[uint32]int, len(steps))
	before := uint32(0)
	for place, step := range steps {
		if step.ID <= before {
			return nil, nil, fmt.Errorf("step %d comes after step %d: ids start at 1 and grow", step.ID, before)
		}
		before = step.ID
		after, isAfter := step.Start["after"]
		atNs, isAt := step.Start["at_ns"]
		switch {
		case step.Start == nil && place > 0:
			s.sequential[place] = true
		case step.Start == nil, isAfter && after == 0:
			first = append(first, timed{place, 0})
		case isAt:
			first = append(first, timed{place, duration(atNs)})
		case isAfter:
			earlier, ok := places[uint32(after)]
			if !ok || after > uint64(step.ID) {
				return nil, nil, fmt.Errorf("step %d waits for step %d, which is not an earlier step", step.ID, after)
			}
			s.followers[earlier] = append(s.followers[earlier], place)
		default:
			return nil, nil, &Unsupported{fmt.Sprintf("start %v", keys(step.Start)), "this driver does not know it"}
		}
		places[step.ID] = place
	}
	return s, first, nil
}

// end notes that the step at place has ended; returns the places that may start now.
func (s *schedule) end(place int) []int {
	s.ended[place] = true
	ready := s.followers[place]
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
