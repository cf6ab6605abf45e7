package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type startRule = map[string]uint64

func TestScheduleFollowsStartRules(t *testing.T) {
	after := func(id uint64) startRule { return startRule{"after": id} }
	for name, test := range map[string]struct {
		starts []startRule
		first  []timedStep
		ends   []int
		ready  [][]int // after each end
	}{
		"sequential steps": {
			[]startRule{nil, nil, nil}, []timedStep{{0, 0}}, []int{0, 1, 2}, [][]int{{1}, {2}, nil},
		},
		"a sequential step waits for all earlier ones": {
			[]startRule{nil, after(1), after(1), nil}, []timedStep{{0, 0}}, []int{0, 2, 1}, [][]int{{1, 2}, nil, {3}},
		},
		"timed and independent steps start with the run": {
			[]startRule{nil, {"at_ns": 5}, after(0), nil}, []timedStep{{0, 0}, {1, 5}, {2, 0}},
			[]int{2, 0, 1}, [][]int{nil, nil, {3}},
		},
		"a follower waits only for its leader": {
			[]startRule{after(0), after(0), after(1)}, []timedStep{{0, 0}, {1, 0}}, []int{0}, [][]int{{2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			schedule, first, err := newSchedule(steps(test.starts))
			if err != nil || !reflect.DeepEqual(first, test.first) {
				t.Fatalf("first %v, %v; want %v", first, err, test.first)
			}
			for i, index := range test.ends {
				if ready := schedule.end(index, 0); !reflect.DeepEqual(ready, test.ready[i]) {
					t.Errorf("after the end of step %d: %v, want %v", index, ready, test.ready[i])
				}
			}
		})
	}
}

func TestAStepIsLateOnlyAfterItsLimit(t *testing.T) {
	limited := steps([]startRule{nil, nil, nil})
	limited[1].Until = &Until{After: 0, Ns: 50}
	limited[2].Until = &Until{After: 1, Ns: 10}
	schedule, _, err := newSchedule(limited)
	if err != nil {
		t.Fatal(err)
	}
	schedule.begin(1000)
	for _, test := range []struct {
		index int
		atNs  int64
		late  bool
	}{{0, 5000, false}, {1, 1050, false}, {1, 1051, true}, {2, 5000, false}} {
		if schedule.isLate(test.index, test.atNs) != test.late {
			t.Errorf("step %d at %d ns: late is not %v", test.index, test.atNs, test.late)
		}
	}
	schedule.end(0, 1100)
	if schedule.isLate(2, 1110) || !schedule.isLate(2, 1111) {
		t.Error("the limit does not count from the end of the earlier step")
	}
}

func TestAStepThatIsTooLateEndsAtOnceWithoutARow(t *testing.T) {
	made := steps([]startRule{nil, nil, nil})
	made[0].Kind, made[0].Ns = "pause", int64(2*time.Millisecond)
	made[1].Kind, made[1].Until = "get", &Until{After: 0, Ns: uint64(time.Millisecond)}
	made[2].Kind = "pause"
	schedule, first, err := newSchedule(made)
	if err != nil {
		t.Fatal(err)
	}
	// No session: starting the call would panic.
	r := &run{steps: made, requests: make([]Request, 3), schedule: schedule, first: first}
	if err := r.execute(func(row Row) error { return errors.New("a row of a call that was not started") }); err != nil {
		t.Error(err)
	}
}

func TestAllocationsAreCountedOnlyOfALoneCall(t *testing.T) {
	var counter allocationCounter
	alone := counter.begin()
	kept = make([]byte, 1<<20)
	if bytes, objects := counter.end(alone); bytes == nil || *bytes < 1<<20 || *objects < 1 {
		t.Error("a call that allocates 1 MiB: ", bytes, objects)
	}
	first, second := counter.begin(), counter.begin()
	if bytes, _ := counter.end(second); bytes != nil {
		t.Error("counted a call that began during another")
	}
	if bytes, _ := counter.end(first); bytes != nil {
		t.Error("counted a call during which another began")
	}
}

// kept makes an allocation escape to the heap.
var kept []byte

func TestScheduleRejectsInvalidSteps(t *testing.T) {
	duplicate := steps([]startRule{nil, nil})
	duplicate[1].ID = 1
	for want, wrong := range map[string][]Step{
		"not an earlier step":     steps([]startRule{nil, {"after": 2}}),
		"start at 1 and increase": duplicate,
		"has a limit":             limitedByItself(),
		"unsupported":             steps([]startRule{{"moon": 1}}),
	} {
		if _, _, err := newSchedule(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func limitedByItself() []Step {
	made := steps([]startRule{nil})
	made[0].Until = &Until{After: 1}
	return made
}

func steps(starts []startRule) []Step {
	made := make([]Step, len(starts))
	for index, start := range starts {
		made[index] = Step{ID: uint32(index) + 1, Start: start}
	}
	return made
}

func TestSeededIsSplitMix64FromSeedZero(t *testing.T) {
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
	if _, err := Seeded(maxUploadBytes + 1); err == nil {
		t.Error("made a body above the limit")
	}
}

func TestGateMakesCallsWaitForTheOpener(t *testing.T) {
	ctx := context.Background()
	p := &pool{gate: &gate{}, counter: &connectionCounter{}}
	call := func() *Call { return &Call{pool: p} }
	opener, waiting := call(), call()
	if opens, err := p.gate.enter(ctx, opener); !opens || err != nil {
		t.Fatal("the first call does not open the connection", err)
	}
	entered := make(chan bool)
	go func() {
		opens, _ := p.gate.enter(ctx, waiting)
		entered <- opens
	}()
	select {
	case <-entered:
		t.Fatal("the second call did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	p.gate.leave(opener) // it failed
	if !<-entered {
		t.Fatal("no call opens the connection")
	}
	connection := waiting.NewConnection()
	waiting.UseConnection(connection)
	if opens, err := p.gate.enter(ctx, call()); opens || err != nil {
		t.Fatal("the open connection is not shared", err)
	}
	connection.MarkClosed()
	if opens, _ := p.gate.enter(ctx, call()); !opens {
		t.Fatal("no call replaces the closed connection")
	}
	expiring, cancel := context.WithTimeoutCause(ctx, time.Millisecond, timeoutError{time.Millisecond})
	defer cancel()
	if _, err := p.gate.enter(expiring, call()); !errors.As(err, &timeoutError{}) {
		t.Fatal("a call waits beyond its timeout:", err)
	}
}

func TestOnlyTheOpenerReportsConnectionPhases(t *testing.T) {
	p := &pool{counter: &connectionCounter{}}
	opener, second, third := &Call{pool: p}, &Call{pool: p}, &Call{pool: p}
	connection := opener.NewConnection()
	connection.StampConnect()
	opener.UseConnection(connection)
	second.UseConnection(connection)
	opener.end(nil)
	second.end(nil)
	// Dialled for a call that then took another's connection, and first used by a third.
	stray := second.NewConnection()
	stray.StampConnect()
	third.UseConnection(stray)
	third.end(nil)
	opener.StampRequestSent() // too late

	if row := opener.finish(); row.Reused || row.Connection != 1 || row.ConnectNs == 0 || row.RequestSentNs != 0 {
		t.Errorf("the opener's row: %+v", row)
	}
	if row := second.finish(); !row.Reused || row.Connection != 1 || row.ConnectNs != 0 {
		t.Errorf("the second's row: %+v", row)
	}
	if row := third.finish(); row.Reused || row.Connection != 2 || row.ConnectNs != 0 {
		t.Errorf("the third's row: %+v", row)
	}
}

func TestEveryPartOfTheSeededFileIsThatOfTheWhole(t *testing.T) {
	whole, err := Seeded(64)
	if err != nil {
		t.Fatal(err)
	}
	// The generator's published first output for seed 0, 0xe220a8397b1dcdaf.
	if !bytes.Equal(whole[:4], []byte{0xaf, 0xcd, 0x1d, 0x7b}) {
		t.Errorf("%x", whole[:4])
	}
	for start := range 40 {
		for length := range 64 - start {
			part := make([]byte, length)
			SeededFile{}.ReadAt(part, int64(start))
			if !bytes.Equal(part, whole[start:start+length]) {
				t.Fatalf("%d bytes from %d: %x", length, start, part)
			}
		}
	}
}
