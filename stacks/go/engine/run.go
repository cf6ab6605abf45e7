package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"commute/stacks/go/auth"
	"commute/stacks/go/exchange"
)

// A session is a library configured for every origin of a setup, with its connections and tickets.
type session struct {
	origins     map[string]*endpoint // by the name in steps
	timeout     time.Duration
	exchanges   *exchange.Source
	payloads    map[string][]byte // of fetch steps, by name
	credential  *auth.Credential  // nil if requests need not prove who sends them
	counter     connectionCounter
	allocations allocationCounter
	mu          sync.Mutex
}

// An endpoint is a library configured for one origin, and its connections to that. None of these
// libraries uses a connection for another host than the one that it was opened for, so that nothing is
// lost by keeping the origins apart.
type endpoint struct {
	library Library
	pool    *pool
}

func newSession(libraries map[string]Library, timeoutNs int64) *session {
	s := &session{origins: map[string]*endpoint{}, timeout: time.Duration(timeoutNs)}
	for name, library := range libraries {
		s.origins[name] = &endpoint{library: library}
	}
	s.reconnect(Cold)
	return s
}

// reconnect closes every connection to every origin; new ones are opened in mode.
func (s *session) reconnect(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, origin := range s.origins {
		if origin.pool != nil {
			origin.pool.retire()
		}
		origin.pool = &pool{ConnectionPool: origin.library.NewPool(mode), counter: &s.counter}
		if origin.library.Multiplexes() {
			origin.pool.gate = &gate{}
		}
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, origin := range s.origins {
		origin.pool.retire()
	}
}

// makeRequest makes the request of a call with the library of its origin.
func (s *session) makeRequest(step Step) (Request, error) {
	origin, known := s.origins[step.Origin]
	if !known {
		return nil, fmt.Errorf("setup has no origin %q", step.Origin)
	}
	return origin.library.Prepare(step)
}

// call makes one call, from the application's request for it to its end. An exchange includes
// making the message and decoding the answer.
func (s *session) call(step Step, request Request, x *exchange.Exchange) *Call {
	call := &Call{row: Row{Type: "row", ID: step.ID}, exchange: x, oneWay: step.Kind == "submit"}
	count := s.allocations.begin()
	defer func() { call.row.AllocatedBytes, call.row.Allocations = s.allocations.end(count) }()
	s.mu.Lock()
	call.pool = s.origins[step.Origin].pool
	call.pool.enter()
	s.mu.Unlock()
	defer call.pool.leave()

	call.row.StartNs = Now()
	ctx, stop := context.WithTimeoutCause(context.Background(), s.timeout, timeoutError{s.timeout})
	defer stop()
	if step.CancelAfterNs > 0 {
		cancelled, stop := context.WithTimeoutCause(ctx, time.Duration(step.CancelAfterNs), errCancelled)
		defer stop()
		ctx = cancelled
	}
	err := call.encode(request, step.ChunkBytes)
	if err == nil {
		err = call.prove(request, s.credential)
	}
	if err == nil {
		err = call.pool.do(WithCall(ctx, call), call, request)
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

type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

var errCancelled = errors.New("cancelled as requested")

func asCallError(err error) *CallError {
	var known *CallError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &timeoutError{}):
		return NewCallError("timeout", err)
	case errors.Is(err, errCancelled):
		return NewCallError("cancelled", err)
	}
	return NewCallError("other", err)
}

// A run is a list of steps, prepared and ready to execute.
type run struct {
	session   *session
	steps     []Step
	requests  []Request            // by step index; nil for steps that are not calls
	exchanges []*exchange.Exchange // by step index; nil for steps that are not exchanges
	schedule  *schedule
	first     []timedStep
}

func (s *session) prepare(steps []Step, stack Stack) (*run, error) {
	r := &run{
		session:   s,
		steps:     steps,
		requests:  make([]Request, len(steps)),
		exchanges: make([]*exchange.Exchange, len(steps)),
	}
	for index, step := range steps {
		var err error
		switch step.Kind {
		case "fetch":
			var known bool
			if step.Content, known = s.payloads[step.Payload]; !known && step.Payload != "" {
				return nil, fmt.Errorf("setup has no payload %q", step.Payload)
			}
			r.requests[index], err = s.makeRequest(step)
		case "stream":
			if s.credential != nil && s.credential.Signs() {
				return nil, &Unsupported{"step stream", "a bidirectional stream cannot be signed"}
			}
			r.requests[index], err = s.makeRequest(step)
		case "call", "get", "put":
			r.requests[index], err = s.makeRequest(step)
		case "exchange", "submit":
			r.requests[index], r.exchanges[index], err = s.prepareExchange(step, stack)
		case "reconnect":
			err = checkMode(step.Mode, stack.Hello.Capabilities)
		case "pause":
		default:
			err = &Unsupported{"step " + step.Kind, "unknown to this driver"}
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
	if step.Kind == "submit" && step.MessageKind != "Diag" {
		return nil, nil, &Unsupported{"message " + step.Message, "only a Diag can be submitted"}
	}
	if codec := s.exchanges.Codec(); !slices.Contains(stack.Hello.Codecs, codec) {
		return nil, nil, &Unsupported{"codec " + codec, stack.Hello.Stack + " cannot exchange messages in it"}
	}
	x, err := s.exchanges.Prepare(step.Message, step.MessageKind)
	if errors.Is(err, exchange.ErrUnknownKind) {
		err = &Unsupported{"message " + step.Message, err.Error()}
	}
	if err != nil {
		return nil, nil, err
	}
	request, err := s.makeRequest(step)
	return request, x, err
}

func checkMode(mode string, capabilities []string) error {
	switch mode {
	case Cold:
		return nil
	case Resume, EarlyData:
		if slices.Contains(capabilities, mode) {
			return nil
		}
		return &Unsupported{"reconnect " + mode, "not among this stack's capabilities"}
	}
	return &Unsupported{"reconnect " + mode, "unknown to this driver"}
}

// execute runs the steps by their start rules. It reports rows only while no step is running.
func (r *run) execute(report func(Row) error) error {
	runtime.GC() // so that garbage made so far is not collected during a call
	e := &execution{
		run:     r,
		report:  report,
		running: len(r.first),
		groups:  newGroups(r.steps),
		done:    make(chan struct{}),
	}
	r.schedule.begin(Now())
	for _, step := range r.first {
		if step.delay > 0 {
			time.AfterFunc(step.delay, func() { e.runFrom(step.index) })
		} else {
			go e.runFrom(step.index)
		}
	}
	if len(r.first) > 0 {
		<-e.done
	}
	return e.err
}

// An execution is the state of a run in progress.
type execution struct {
	run     *run
	report  func(Row) error
	mu      sync.Mutex
	running int
	groups  *groups
	done    chan struct{}
	err     error // the lab cannot be reached
}

// runFrom runs a step and those that its end lets start: one of them on this goroutine, as an
// application's own thread would go on, the others on new ones.
func (e *execution) runFrom(index int) {
	for {
		var call *Call
		if !e.isLate(index) {
			call = e.run.runStep(index)
		}
		ready := e.stepEnded(index, call)
		if len(ready) == 0 {
			return
		}
		for _, concurrent := range ready[1:] {
			go e.runFrom(concurrent)
		}
		index = ready[0]
	}
}

func (e *execution) isLate(index int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run.schedule.isLate(index, Now())
}

// stepEnded records that a step has ended and returns the steps that may start now. The call is nil
// if the step is none or was not started.
func (e *execution) stepEnded(index int, call *Call) []int {
	nowNs := Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.run.steps[index]; step.isCall() {
		e.groups.end(step.Group, call)
	}
	e.running--
	if e.running == 0 && e.err == nil {
		e.err = e.groups.reportComplete(e.report)
	}
	ready := e.run.schedule.end(index, nowNs)
	e.running += len(ready)
	if e.running == 0 {
		close(e.done)
	}
	return ready
}

// runStep runs one step and returns its call, or nil if the step is not a call.
func (r *run) runStep(index int) *Call {
	step := r.steps[index]
	switch step.Kind {
	case "pause":
		time.Sleep(time.Duration(step.Ns))
	case "reconnect":
		r.session.reconnect(step.Mode)
	default:
		return r.session.call(step, r.requests[index], r.exchanges[index])
	}
	return nil
}

// groups holds the calls that have ended and are not reported yet.
type groups struct {
	remaining map[uint32]int // calls that have not ended, by group
	ended     map[uint32][]*Call
	complete  []uint32
}

func newGroups(steps []Step) *groups {
	g := &groups{remaining: map[uint32]int{}, ended: map[uint32][]*Call{}}
	for _, step := range steps {
		if step.isCall() {
			g.remaining[step.Group]++
		}
	}
	return g
}

// end counts a call that has ended, or nil for one that was not started.
func (g *groups) end(group uint32, call *Call) {
	if call != nil {
		g.ended[group] = append(g.ended[group], call)
	}
	g.remaining[group]--
	if g.remaining[group] == 0 {
		g.complete = append(g.complete, group)
	}
}

// reportComplete reports the groups whose calls have all ended.
func (g *groups) reportComplete(report func(Row) error) error {
	for _, group := range g.complete {
		for _, call := range g.ended[group] {
			if err := report(call.finish()); err != nil {
				return err
			}
		}
		delete(g.ended, group)
	}
	g.complete = nil
	return nil
}
