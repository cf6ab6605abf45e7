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
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
)

// Stack returns the driver's description of grpc-go.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "grpc-go",
			StackVersion: grpc.Version,
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"grpc"},
			Codecs:       []string{"protobuf"},
			Capabilities: []string{"mtls", "resume", "stream", "parallel", "protobuf", "cancel", "plaintext", "jwt", "hmac", "submit", "until", "origins", "fetch"},
			Phases: map[string]string{
				"dns":          "the dns resolver passed addresses to the channel",
				"connect":      "httptrace ConnectDone in the channel's dialer",
				"tls":          "TransportCredentials.ClientHandshake returned",
				"request_sent": "stats.OutPayload: the last message was queued for the transport (OutHeader if there is none)",
				"first_byte":   "stats.InHeader, or InTrailer if it comes alone",
				"end":          "the call returned; streams: Recv returned the status",
			},
			Settings: map[string]string{
				"channel":          "grpc.NewClient's defaults except as listed; a new one per reconnect",
				"name resolution":  "dns resolver without service config lookup (default: TXT)",
				"load balancing":   "pick_first",
				"retries":          "retry policy off; requests that no server processed are resent, as always in gRPC",
				"H2 windows":       "initially 64 KiB, grown by bandwidth estimation (BDP)",
				"buffers":          "32 KiB for reading, 32 KiB for writing",
				"idle timeout":     "30 min",
				"gRPC keep-alive":  "off",
				"connect backoff":  "1 s, increasing",
				"TCP_NODELAY":      "on",
				"TCP keep-alive":   "the system's",
				"tickets":          "LRU session cache (default: none)",
				"proxy":            "none (default: from the environment)",
				"upload chunks":    "16 KiB",
				"message limit":    "4 MiB per message received",
				"server addresses": "tried in turn, the next after 250 ms",
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

func (l *library) Multiplexes() bool { return true }

func (l *library) Prepare(step engine.Step) (engine.Request, error) {
	return prepare(step, l.origin.URL.Host)
}

func (l *library) NewPool(mode string) engine.ConnectionPool {
	p := &pool{open: map[int]*engine.Connection{}}
	transport := insecure.NewCredentials()
	if !l.origin.Plaintext() {
		transport = credentials.NewTLS(l.origin.TLS(mode))
	}
	channel, err := grpc.NewClient(l.origin.URL.Host,
		grpc.WithTransportCredentials(&watchedHandshakes{transport, p}),
		grpc.WithContextDialer(p.dial),
		grpc.WithResolvers(&watchedDNS{resolver.Get("dns"), p}),
		grpc.WithStatsHandler(statsHandler{}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	)
	p.channel, p.err = channel, err
	return p
}

// A pool is one channel. It dials for the call that found it idle.
type pool struct {
	channel    *grpc.ClientConn
	err        error // why the channel could not be made
	mu         sync.Mutex
	opener     *engine.Call
	resolvedNs int64
	open       map[int]*engine.Connection // by local port
	failure    *engine.CallError          // why there is no connection
}

func (p *pool) Close() {
	if p.channel != nil {
		p.channel.Close()
	}
}

func (p *pool) Do(ctx context.Context, call *engine.Call, prepared engine.Request) error {
	if p.err != nil {
		return p.err
	}
	if call.OpensConnection() {
		p.edit(func() { p.opener, p.resolvedNs = call, 0 })
	}
	observed := &observedCall{Call: call, pool: p}
	err := prepared.(*request).send(observed.context(ctx), p.channel, call)
	if err != nil {
		return p.classifyError(err, call, observed.answered.Load())
	}
	call.SetStatus(int(codes.OK))
	return nil
}

// dial does what grpc-go's own dialer does.
func (p *pool) dial(ctx context.Context, address string) (net.Conn, error) {
	record := p.currentOpener().NewConnection()
	p.edit(func() {
		if p.resolvedNs != 0 {
			record.StampDNSAt(p.resolvedNs)
		}
	})
	dialer := &net.Dialer{
		KeepAlive: -1, // the intervals are the system's
		Control: func(_, _ string, socket syscall.RawConn) error {
			return socket.Control(func(fd uintptr) {
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			})
		},
	}
	conn, err := tcp.Dial(ctx, dialer, address, record)
	if err != nil {
		p.fail("connect", err)
	}
	return conn, err
}

func (p *pool) currentOpener() *engine.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opener
}

func (p *pool) lastFailure() *engine.CallError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *pool) fail(kind string, err error) {
	p.edit(func() { p.failure = engine.NewCallError(kind, err) })
}

func (p *pool) edit(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// watchedHandshakes stamps the end of handshakes. Without TLS there is none, and only the connection is
// recorded.
type watchedHandshakes struct {
	credentials.TransportCredentials
	pool *pool
}

func (t *watchedHandshakes) Clone() credentials.TransportCredentials {
	return &watchedHandshakes{t.TransportCredentials.Clone(), t.pool}
}

func (t *watchedHandshakes) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		t.pool.fail(handshakeErrorKind(err), err)
		return conn, info, err
	}
	record := raw.(*tcp.Conn).Connection
	if secure, isTLS := info.(credentials.TLSInfo); isTLS {
		record.HandshakeDone("grpc", secure.State)
	} else {
		record.SetProtocol("grpc")
	}
	port := raw.LocalAddr().(*net.TCPAddr).Port
	t.pool.edit(func() { t.pool.open[port], t.pool.failure = record, nil })
	return conn, info, nil
}

// watchedDNS stamps the resolution of names.
type watchedDNS struct {
	resolver.Builder
	pool *pool
}

func (b *watchedDNS) Build(target resolver.Target, channel resolver.ClientConn, options resolver.BuildOptions) (resolver.Resolver, error) {
	if host, _, err := net.SplitHostPort(target.Endpoint()); err == nil && net.ParseIP(host) != nil {
		return b.Builder.Build(target, channel, options)
	}
	return b.Builder.Build(target, &watchedChannel{channel, b.pool}, options)
}

type watchedChannel struct {
	resolver.ClientConn
	pool *pool
}

func (c *watchedChannel) UpdateState(state resolver.State) error {
	c.pool.edit(func() { c.pool.resolvedNs = engine.Now() })
	return c.ClientConn.UpdateState(state)
}

func (c *watchedChannel) ReportError(err error) {
	c.pool.fail("dns", err)
	c.ClientConn.ReportError(err)
}
