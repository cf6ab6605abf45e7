// Package grpcgo drives grpc-go.
package grpcgo

import (
	"context"
	"net"
	"runtime"
	"sync"
	"syscall"

	"commute/stacks/go/engine"
	"commute/stacks/go/origin"
	"commute/stacks/go/tcp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
)

// Stack is grpc-go.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "grpc-go",
			StackVersion: grpc.Version,
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"grpc"},
			Codecs:       []string{"protobuf"},
			Capabilities:    []string{"mtls", "resume", "stream", "parallel", "protobuf", "cancel"},
			Phases: map[string]string{
				"dns":          "the dns resolver handed addresses to the channel",
				"connect":      "httptrace ConnectDone in the channel's dialer",
				"tls":          "TransportCredentials.ClientHandshake returned",
				"request_sent": "stats.OutPayload: the last message was queued for the transport (OutHeader where there is none)",
				"first_byte":   "stats.InHeader, or InTrailer where it comes alone",
				"end":          "the call returned; streams: Recv returned the status",
			},
			Settings: map[string]string{
				"channel":          "grpc.NewClient's defaults, but as stated here; a new one after each reconnect",
				"name resolution":  "dns resolver without looking up a service config (library's: TXT)",
				"load balancing":   "pick_first",
				"retries":          "by policy: off; what no server processed is sent again, as always in gRPC",
				"H2 windows":       "64 KiB to begin with, grown by bandwidth estimation (BDP)",
				"buffers":          "32 KiB to read, 32 KiB to write",
				"idle timeout":     "30 min",
				"gRPC keep-alive":  "off",
				"connect backoff":  "1 s, growing",
				"TCP_NODELAY":      "on",
				"TCP keep-alive":   "the system's",
				"tickets":          "LRU session cache (library's: none)",
				"proxy":            "none (library's: from the environment)",
				"uploaded in":      "messages of 16 KiB",
				"message limit":    "4 MiB received",
				"server's address": "tried in turn; the next after 250 ms",
			},
		},
		Codec: "protobuf",
		Open: func(setup engine.Setup) (engine.Library, error) {
			origin, err := origin.New(setup)
			return &library{origin}, err
		},
	}
}

type library struct {
	origin *origin.Origin
}

func (l *library) Shares() bool { return true }

func (l *library) Prepare(step engine.Step) (engine.Request, error) { return prepare(step) }

func (l *library) Wires(mode string) engine.Wires {
	w := &wires{open: map[int]*engine.Connection{}}
	channel, err := grpc.NewClient(l.origin.URL.Host,
		grpc.WithTransportCredentials(&watchedTLS{credentials.NewTLS(l.origin.TLS(mode)), w}),
		grpc.WithContextDialer(w.dial),
		grpc.WithResolvers(&watchedDNS{resolver.Get("dns"), w}),
		grpc.WithStatsHandler(statsHandler{}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	)
	w.channel, w.broken = channel, err
	return w
}

// wires is one channel. What it dials is on behalf of the call that it was idle for.
type wires struct {
	channel    *grpc.ClientConn
	broken     error // it could not even be made
	mu         sync.Mutex
	opener     *engine.Call
	resolvedNs int64
	open       map[int]*engine.Connection // by local port
	failure    *engine.CallError          // why it has no connection
}

func (w *wires) Close() {
	if w.channel != nil {
		w.channel.Close()
	}
}

func (w *wires) Do(ctx context.Context, call *engine.Call, prepared engine.Request) error {
	if w.broken != nil {
		return w.broken
	}
	if call.Opens() {
		w.edit(func() { w.opener, w.resolvedNs = call, 0 })
	}
	seen := &observed{Call: call, wires: w}
	err := prepared.(*request).send(seen.context(ctx), w.channel, call)
	if err != nil {
		return w.explain(err, call, seen.answered.Load())
	}
	call.Status(int(codes.OK))
	return nil
}

// dial does as grpc-go's own dialer.
func (w *wires) dial(ctx context.Context, address string) (net.Conn, error) {
	record := w.opening().Dial()
	w.edit(func() {
		if w.resolvedNs != 0 {
			record.ResolvedAt(w.resolvedNs)
		}
	})
	dialer := &net.Dialer{
		KeepAlive: -1, // the times are the system's
		Control: func(_, _ string, socket syscall.RawConn) error {
			return socket.Control(func(fd uintptr) {
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			})
		},
	}
	conn, err := tcp.Dial(ctx, dialer, address, record)
	if err != nil {
		w.fail("connect", err)
	}
	return conn, err
}

func (w *wires) opening() *engine.Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opener
}

func (w *wires) lastFailure() *engine.CallError {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

func (w *wires) fail(kind string, err error) {
	w.edit(func() { w.failure = engine.Fail(kind, err) })
}

func (w *wires) edit(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// watchedTLS tells when a handshake is done.
type watchedTLS struct {
	credentials.TransportCredentials
	wires *wires
}

func (t *watchedTLS) Clone() credentials.TransportCredentials {
	return &watchedTLS{t.TransportCredentials.Clone(), t.wires}
}

func (t *watchedTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		t.wires.fail(kindOfHandshake(err), err)
		return conn, info, err
	}
	record := raw.(*tcp.Conn).Record
	record.Secured("grpc", info.(credentials.TLSInfo).State)
	port := raw.LocalAddr().(*net.TCPAddr).Port
	t.wires.edit(func() { t.wires.open[port], t.wires.failure = record, nil })
	return conn, info, nil
}

// watchedDNS tells when the name is resolved.
type watchedDNS struct {
	resolver.Builder
	wires *wires
}

func (b *watchedDNS) Build(target resolver.Target, channel resolver.ClientConn, options resolver.BuildOptions) (resolver.Resolver, error) {
	if host, _, err := net.SplitHostPort(target.Endpoint()); err == nil && net.ParseIP(host) != nil {
		return b.Builder.Build(target, channel, options)
	}
	return b.Builder.Build(target, &resolving{channel, b.wires}, options)
}

type resolving struct {
	resolver.ClientConn
	wires *wires
}

func (r *resolving) UpdateState(state resolver.State) error {
	r.wires.edit(func() { r.wires.resolvedNs = engine.Now() })
	return r.ClientConn.UpdateState(state)
}

func (r *resolving) ReportError(err error) {
	r.wires.fail("dns", err)
	r.ClientConn.ReportError(err)
}
