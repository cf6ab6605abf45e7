package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type rule = map[string]uint64

func TestStepsStartByTheirRules(t *testing.T) {
	after := func(id uint64) rule { return rule{"after": id} }
	for name, test := range map[string]struct {
		starts []rule
		first  []timed
		ends   []int
		ready  [][]int // after each end
	}{
		"one after another": {
			[]rule{nil, nil, nil}, []timed{{0, 0}}, []int{0, 1, 2}, [][]int{{1}, {2}, nil},
		},
		"a sequential step waits for all before it": {
			[]rule{nil, after(1), after(1), nil}, []timed{{0, 0}}, []int{0, 2, 1}, [][]int{{1, 2}, nil, {3}},
		},
		"timed and free steps start with the run": {
			[]rule{nil, {"at_ns": 5}, after(0), nil}, []timed{{0, 0}, {1, 5}, {2, 0}},
			[]int{2, 0, 1}, [][]int{nil, nil, {3}},
		},
		"a follower need not wait for the others": {
			[]rule{after(0), after(0), after(1)}, []timed{{0, 0}, {1, 0}}, []int{0}, [][]int{{2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			schedule, first, err := newSchedule(steps(test.starts))
			if err != nil || !reflect.DeepEqual(first, test.first) {
				t.Fatalf("first %v, %v; want %v", first, err, test.first)
			}
			for i, place := range test.ends {
				if ready := schedule.end(place); !reflect.DeepEqual(ready, test.ready[i]) {
					t.Errorf("after the end of %d: %v, want %v", place, ready, test.ready[i])
				}
			}
		})
	}
}

func TestStepsThatCouldNeverStartAreRefused(t *testing.T) {
	twice := steps([]rule{nil, nil})
	twice[1].ID = 1
	for want, wrong := range map[string][]Step{
		"not an earlier step": steps([]rule{nil, {"after": 2}}),
		"start at 1 and grow": twice,
		"unsupported":         steps([]rule{{"moon": 1}}),
	} {
		if _, _, err := newSchedule(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %q", err, want)
		}
	}
}

func steps(starts []rule) []Step {
	made := make([]Step, len(starts))
	for place, start := range starts {
		made[place] = Step{ID: uint32(place) + 1, Start: start}
	}
	return made
}

func TestTheFileIsSplitMix64FromSeedZero(t *testing.T) {
	file, err := Seeded(20)
	if err != nil || len(file) != 20 {
		t.Fatal(len(file), err)
	}
	// The generator's published first outputs for seed 0.
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4} {
		if got := binary.LittleEndian.Uint64(file[8*i:]); got != want {
			t.Errorf("word %d is %x, want %x", i, got, want)
		}
	}
	if _, err := Seeded(largestUploadBytes + 1); err == nil {
		t.Error("a body that fills memory was made")
	}
}

func TestCallsWaitForTheConnectionBeingOpened(t *testing.T) {
	ctx := context.Background()
	w := &wires{gate: &gate{}, numbers: &numbers{}}
	call := func() *Call { return &Call{wires: w} }
	opener, waiting := call(), call()
	if opens, err := w.gate.enter(ctx, opener); !opens || err != nil {
		t.Fatal("the first call does not open the connection", err)
	}
	entered := make(chan bool)
	go func() {
		opens, _ := w.gate.enter(ctx, waiting)
		entered <- opens
	}()
	select {
	case <-entered:
		t.Fatal("the second call did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	w.gate.leave(opener) // it failed
	if !<-entered {
		t.Fatal("nobody opens the connection now")
	}
	connection := waiting.Dial()
	waiting.On(connection)
	if opens, err := w.gate.enter(ctx, call()); opens || err != nil {
		t.Fatal("the open connection is not shared", err)
	}
	connection.Closed()
	if opens, _ := w.gate.enter(ctx, call()); !opens {
		t.Fatal("nobody replaces the closed connection")
	}
	given, cancel := context.WithTimeoutCause(ctx, time.Millisecond, errTimedOut{time.Millisecond})
	defer cancel()
	if _, err := w.gate.enter(given, call()); !errors.As(err, &errTimedOut{}) {
		t.Fatal("a call waits beyond its time:", err)
	}
}

func TestOnlyTheOpenerHasThePhasesOfItsConnection(t *testing.T) {
	w := &wires{numbers: &numbers{}}
	opener, second, stranger := &Call{wires: w}, &Call{wires: w}, &Call{wires: w}
	connection := opener.Dial()
	connection.Connected()
	opener.On(connection)
	second.On(connection)
	opener.end(nil)
	second.end(nil)
	// Dialled for one call that then took another's connection; first used by a third.
	stray := second.Dial()
	stray.Connected()
	stranger.On(stray)
	stranger.end(nil)
	opener.RequestSent() // too late

	if row := opener.finish(); row.Reused || row.Connection != 1 || row.ConnectNs == 0 || row.RequestSentNs != 0 {
		t.Errorf("the opener's row: %+v", row)
	}
	if row := second.finish(); !row.Reused || row.Connection != 1 || row.ConnectNs != 0 {
		t.Errorf("the second's row: %+v", row)
	}
	if row := stranger.finish(); row.Reused || row.Connection != 2 || row.ConnectNs != 0 {
		t.Errorf("the stranger's row: %+v", row)
	}
}
