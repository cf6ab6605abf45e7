package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"commute/stacks/go/exchange"
)

// A session is a library set up for one origin: its connections and its tickets.
type session struct {
	library   Library
	timeout   time.Duration
	exchanges *exchange.Source
	numbers   numbers
	mu        sync.Mutex
	wires     *wires
}

func newSession(library Library, timeoutNs int64) *session {
	s := &session{library: library, timeout: time.Duration(timeoutNs)}
	s.reconnect(Cold)
	return s
}

// reconnect closes every connection; the next are opened in mode.
func (s *session) reconnect(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wires != nil {
		s.wires.retire()
	}
	s.wires = &wires{Wires: s.library.Wires(mode), numbers: &s.numbers}
	if s.library.Shares() {
		s.wires.gate = &gate{}
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wires.retire()
}

// call makes one call, from the moment the application asks for it to its end. With an
// exchange, the making of the message and the decoding of the answer are part of it.
func (s *session) call(step Step, request Request, x *exchange.Exchange) *Call {
	call := &Call{row: Row{Type: "row", ID: step.ID}, exchange: x}
	s.mu.Lock()
	call.wires = s.wires
	call.wires.enter()
	s.mu.Unlock()
	defer call.wires.leave()

	call.row.StartNs = Now()
	ctx, stop := context.WithTimeoutCause(context.Background(), s.timeout, errTimedOut{s.timeout})
	defer stop()
	if step.CancelAfterNs > 0 {
		cancelled, stop := context.WithTimeoutCause(ctx, time.Duration(step.CancelAfterNs), errCancelled)
		defer stop()
		ctx = cancelled
	}
	err := call.encode(request)
	if err == nil {
		err = call.wires.do(WithCall(ctx, call), call, request)
	}
	if err == nil {
		err = call.decode()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	call.end(err)
	return call
}

type errTimedOut struct{ after time.Duration }

func (e errTimedOut) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

var errCancelled = errors.New("cancelled, as was asked")

func asCallError(err error) *CallError {
	var known *CallError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &errTimedOut{}):
		return Fail("timeout", err)
	case errors.Is(err, errCancelled):
		return Fail("cancelled", err)
	}
	return Fail("other", err)
}

// A run is steps that are ready to be followed.
type run struct {
	session   *session
	steps     []Step
	requests  []Request            // by place; nil where a step is no call
	exchanges []*exchange.Exchange // by place; nil where a step is no exchange
	schedule  *schedule
	first     []timed
}

func (s *session) prepare(steps []Step, stack Stack) (*run, error) {
	r := &run{
		session:   s,
		steps:     steps,
		requests:  make([]Request, len(steps)),
		exchanges: make([]*exchange.Exchange, len(steps)),
	}
	for place, step := range steps {
		var err error
		switch step.Kind {
		case "call", "get", "put", "stream":
			r.requests[place], err = s.library.Prepare(step)
		case "exchange":
			r.requests[place], r.exchanges[place], err = s.prepareExchange(step, stack)
		case "reconnect":
			err = checkMode(step.Mode, stack.Hello.Capabilities)
		case "pause":
		default:
			err = &Unsupported{"step " + step.Kind, "this driver does not know it"}
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	r.schedule, r.first, err = newSchedule(steps)
	return r, err
}

func (s *session) prepareExchange(step Step, stack Stack) (Request, *exchange.Exchange, error) {
	if codec := s.exchanges.Codec(); !slices.Contains(stack.Hello.Codecs, codec) {
		return nil, nil, &Unsupported{"codec " + codec, stack.Hello.Stack + " does not exchange in it"}
	}
	x, err := s.exchanges.Prepare(step.Message, step.MessageKind)
	if errors.Is(err, exchange.ErrUnknown) {
		err = &Unsupported{"message " + step.Message, err.Error()}
	}
	if err != nil {
		return nil, nil, err
	}
	request, err := s.library.Prepare(step)
	return request, x, err
}

func checkMode(mode string, capabilities []string) error {
	switch mode {
	case Cold:
		return nil
	case Resume, EarlyData:
		for _, capability := range capabilities {
			if capability == mode {
				return nil
			}
		}
		return &Unsupported{"reconnect " + mode, "not among this stack's capabilities"}
	}
	return &Unsupported{"reconnect " + mode, "this driver does not know it"}
}

// follow does the steps by their start rules. It reports rows only while nothing runs.
func (r *run) follow(report func(Row) error) error {
	runtime.GC() // what was made so far is collected now rather than in mid-call
	f := &following{
		run:     r,
		report:  report,
		running: len(r.first),
		groups:  newGroups(r.steps),
		over:    make(chan struct{}),
	}
	for _, step := range r.first {
		if step.delay > 0 {
			time.AfterFunc(step.delay, func() { f.from(step.place) })
		} else {
			go f.from(step.place)
		}
	}
	if len(r.first) > 0 {
		<-f.over
	}
	return f.broken
}

// following is how far a run has come.
type following struct {
	run     *run
	report  func(Row) error
	mu      sync.Mutex
	running int
	groups  *groups
	over    chan struct{}
	broken  error // the lab cannot be told
}

// from does a step and what may start when it has ended: one of these itself, as an
// application's own thread would go on, and any others beside it.
func (f *following) from(place int) {
	for {
		ready := f.ended(place, f.run.do(place))
		if len(ready) == 0 {
			return
		}
		for _, beside := range ready[1:] {
			go f.from(beside)
		}
		place = ready[0]
	}
}

// ended notes that a step has ended; returns those that may start now.
func (f *following) ended(place int, call *Call) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call != nil {
		f.groups.add(f.run.steps[place].Group, call)
	}
	f.running--
	if f.running == 0 && f.broken == nil {
		f.broken = f.groups.reportWhole(f.report)
	}
	ready := f.run.schedule.end(place)
	f.running += len(ready)
	if f.running == 0 {
		close(f.over)
	}
	return ready
}

// do does one step; the call if it was one.
func (r *run) do(place int) *Call {
	step := r.steps[place]
	switch step.Kind {
	case "pause":
		time.Sleep(time.Duration(step.Ns))
	case "reconnect":
		r.session.reconnect(step.Mode)
	default:
		return r.session.call(step, r.requests[place], r.exchanges[place])
	}
	return nil
}

// groups are the calls that have ended but were not reported.
type groups struct {
	owed  map[uint32]int // calls that have not ended, by group
	ended map[uint32][]*Call
	whole []uint32
}

func newGroups(steps []Step) *groups {
	g := &groups{owed: map[uint32]int{}, ended: map[uint32][]*Call{}}
	for _, step := range steps {
		if step.Kind != "pause" && step.Kind != "reconnect" {
			g.owed[step.Group]++
		}
	}
	return g
}

func (g *groups) add(group uint32, call *Call) {
	g.ended[group] = append(g.ended[group], call)
	g.owed[group]--
	if g.owed[group] == 0 {
		g.whole = append(g.whole, group)
	}
}

// reportWhole reports the groups of which all calls have ended.
func (g *groups) reportWhole(report func(Row) error) error {
	for _, group := range g.whole {
		for _, call := range g.ended[group] {
			if err := report(call.finish()); err != nil {
				return err
			}
		}
		delete(g.ended, group)
	}
	g.whole = nil
	return nil
}
