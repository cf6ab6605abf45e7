package grpcgo

import (
	"context"
	"net"
	"sync/atomic"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/engine"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc/stats"
)

// An observedCall is stamped as grpc-go reports its events.
type observedCall struct {
	*engine.Call
	pool     *pool
	answered atomic.Bool // the server's trailers, and so its status, have arrived
}

type observedKey struct{}

func (c *observedCall) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, observedKey{}, c)
}

func (c *observedCall) handle(event stats.RPCStats) {
	switch event := event.(type) {
	case *stats.OutHeader:
		c.UseConnection(c.pool.carrier(event.LocalAddr))
		c.CountAttempt()
		c.StampRequestSent()
	case *stats.OutPayload:
		c.AddRequestBytes(contentBytes(event))
		c.StampRequestSent()
	case *stats.InHeader:
		c.StampFirstByte()
	case *stats.InTrailer:
		c.StampFirstByte()
		c.answered.Store(true)
	}
}

// contentBytes returns the bytes of a chunk or part without their framing, and the whole of other messages.
func contentBytes(sent *stats.OutPayload) int {
	switch part := sent.Payload.(type) {
	case *wirepb.Chunk:
		return len(part.Data)
	case *benchpb.Part:
		return len(part.Data)
	}
	return sent.Length
}

func (p *pool) carrier(local net.Addr) *engine.Connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[local.(*net.TCPAddr).Port]
}

// statsHandler passes grpc-go's events to their calls.
type statsHandler struct{}

func (statsHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	ctx.Value(observedKey{}).(*observedCall).handle(event)
}

func (statsHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (statsHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (statsHandler) HandleConn(context.Context, stats.ConnStats) {}
