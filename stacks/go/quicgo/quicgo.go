// Package quicgo drives quic-go's HTTP/3 client.
package quicgo

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"commute/stacks/go/engine"
	"commute/stacks/go/exchange"
	"commute/stacks/go/httpcall"
	"commute/stacks/go/module"
	"commute/stacks/go/origin"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Stack returns the driver's description of quic-go.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "quic-go",
			StackVersion: module.Version("github.com/quic-go/quic-go"),
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"h3"},
			Codecs:       exchange.Codecs(),
			Capabilities: []string{"mtls", "resume", "early_data", "parallel", "cancel", "jwt", "hmac", "submit", "until", "origins", "fetch"},
			Phases: map[string]string{
				"dns":          "net.DefaultResolver returned",
				"tls":          "Dial returned; with early data: HandshakeComplete",
				"request_sent": "httptrace WroteRequest: the stream's buffer has taken all of it",
				"first_byte":   "httptrace GotFirstResponseByte",
				"end":          "the body's Read returned EOF",
			},
			Settings: map[string]string{
				"transport":             "http3.Transport's defaults except as listed",
				"sockets":               "one per connection (default: one for all), closed with it",
				"congestion control":    "New Reno with pacing, initial window of 32 packets",
				"receive windows":       "512 KiB, up to 6 MiB per stream and 15 MiB per connection",
				"packet size":           "initially 1280 B, then path MTU discovery",
				"QUIC keep-alive":       "every 10 s",
				"max_idle_timeout":      "30 s, 5 s during the handshake",
				"compression":           "off (default: requests gzip)",
				"redirects":             "not followed",
				"addresses":             "only one is tried, IPv4 if there is one",
				"tickets":               "LRU session cache (default: none)",
				"early data":            "GET only; other requests wait for the handshake; the driver resends refused early data over a new connection",
				"retries":               "once, for requests that were not sent or were refused unprocessed",
				"QUIC_GO_DISABLE_GSO":   "unset: segmentation offload if the kernel has it",
				"request after failure": "goes over a new connection, even if only a stream failed",
			},
		},
		Codec: "json",
		Open: func(setup engine.Setup) (engine.Library, error) {
			origin, err := origin.New(setup)
			return &library{origin, setup.Codec}, err
		},
	}
}

type library struct {
	origin *origin.Origin
	codec  string
}

func (l *library) Multiplexes() bool { return true }

func (l *library) Prepare(step engine.Step) (engine.Request, error) {
	return httpcall.Prepare(l.origin.URL, l.codec, step)
}

func (l *library) NewPool(mode string) engine.ConnectionPool {
	p := &pool{open: map[int]*connection{}}
	p.early.Store(mode == engine.EarlyData)
	p.client = &http.Client{
		Transport: &http3.Transport{
			TLSClientConfig:    l.origin.TLS(mode),
			DisableCompression: true,
			Dial:               p.dial,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

type pool struct {
	client *http.Client
	early  atomic.Bool // whether GETs go as early data
	mu     sync.Mutex
	open   map[int]*connection // by local port
}

type connection struct {
	*quic.Conn
	record *engine.Connection
}

// Close closes all connections, including those that the library abandoned without closing.
func (p *pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range p.open {
		connection.CloseWithError(0, "")
	}
}

func (p *pool) Do(ctx context.Context, call *engine.Call, request engine.Request) error {
	err := p.send(ctx, call, *request.(*httpcall.Request))
	if errors.Is(err, quic.Err0RTTRejected) {
		// quic-go leaves it to the application to resend refused early data.
		p.early.Store(false)
		err = p.send(ctx, call, *request.(*httpcall.Request))
	}
	return classifyError(err)
}

func (p *pool) send(ctx context.Context, call *engine.Call, request httpcall.Request) error {
	if p.early.Load() && request.Method == http.MethodGet {
		request.Method = http3.MethodGet0RTT
	}
	var carrier *connection
	hooks := httpcall.Hooks(call)
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		carrier = p.carrier(info.Conn.LocalAddr())
		call.UseConnection(carrier.record)
	}
	beforeHandshake := false
	hooks.WroteHeaders = func() {
		if beforeHandshake = !isDone(carrier.HandshakeComplete()); !beforeHandshake {
			carrier.handshakeDone()
		}
		call.CountAttempt()
	}
	if err := httpcall.Do(ctx, p.client, &request, call, hooks); err != nil {
		return err
	}
	if beforeHandshake {
		// The answer could be decrypted only with the keys of the completed handshake.
		carrier.handshakeDone()
		if carrier.ConnectionState().Used0RTT {
			call.MarkEarlyData()
		}
	}
	return nil
}

func (p *pool) carrier(local net.Addr) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[local.(*net.UDPAddr).Port]
}

// dial does what http3.Transport's own does, but with one socket per connection.
func (p *pool) dial(ctx context.Context, address string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
	record := engine.CallOf(ctx).NewConnection()
	remote, err := resolve(ctx, address, record)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	port := socket.LocalAddr().(*net.UDPAddr).Port
	record.SetLocalPort(port)
	transport := &quic.Transport{Conn: socket}
	dial := transport.Dial
	if p.early.Load() {
		dial = transport.DialEarly
	}
	conn, err := dial(ctx, remote, tlsConfig, config)
	if err != nil {
		transport.Close()
		socket.Close()
		return nil, err
	}
	opened := &connection{conn, record}
	if isDone(conn.HandshakeComplete()) {
		opened.handshakeDone()
	} else {
		go opened.awaitHandshake()
	}
	p.mu.Lock()
	p.open[port] = opened
	p.mu.Unlock()
	context.AfterFunc(conn.Context(), func() {
		record.MarkClosed()
		transport.Close()
		socket.Close()
		p.mu.Lock()
		delete(p.open, port)
		p.mu.Unlock()
	})
	return conn, nil
}

func (c *connection) awaitHandshake() {
	select {
	case <-c.HandshakeComplete():
		c.handshakeDone()
	case <-c.Context().Done():
	}
}

func (c *connection) handshakeDone() { c.record.HandshakeDone("h3", c.ConnectionState().TLS) }

func resolve(ctx context.Context, address string, record *engine.Connection) (*net.UDPAddr, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		record.StampDNS()
	}
	chosen := found[0]
	for _, candidate := range found {
		if candidate.IP.To4() != nil {
			chosen = candidate
			break
		}
	}
	return &net.UDPAddr{IP: chosen.IP, Port: number, Zone: chosen.Zone}, nil
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
