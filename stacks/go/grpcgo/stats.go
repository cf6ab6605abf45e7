package grpcgo

import (
	"context"
	"net"
	"sync/atomic"

	"commute/stacks/go/engine"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc/stats"
)

// An observed call is stamped as grpc-go reports on it.
type observed struct {
	*engine.Call
	wires    *wires
	answered atomic.Bool // the server's trailers came, and with them its status
}

type observedKey struct{}

func (o *observed) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, observedKey{}, o)
}

func (o *observed) handle(event stats.RPCStats) {
	switch event := event.(type) {
	case *stats.OutHeader:
		o.On(o.wires.carrier(event.LocalAddr))
		o.Sent()
		o.RequestSent()
	case *stats.OutPayload:
		o.CountSent(contentBytes(event))
		o.RequestSent()
	case *stats.InHeader:
		o.FirstByte()
	case *stats.InTrailer:
		o.FirstByte()
		o.answered.Store(true)
	}
}

// contentBytes counts a file's bytes without their framing, and other messages whole.
func contentBytes(sent *stats.OutPayload) int {
	if chunk, ok := sent.Payload.(*wirepb.Chunk); ok {
		return len(chunk.Data)
	}
	return sent.Length
}

func (w *wires) carrier(local net.Addr) *engine.Connection {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[local.(*net.TCPAddr).Port]
}

// statsHandler hands grpc-go's reports to the calls they are about.
type statsHandler struct{}

func (statsHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	ctx.Value(observedKey{}).(*observed).handle(event)
}

func (statsHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (statsHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (statsHandler) HandleConn(context.Context, stats.ConnStats) {}
