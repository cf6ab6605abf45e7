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

// Stack is quic-go.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "quic-go",
			StackVersion: module.Version("github.com/quic-go/quic-go"),
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"h3"},
			Codecs:       exchange.Codecs(),
			Capabilities:    []string{"mtls", "resume", "early_data", "parallel", "cancel"},
			Phases: map[string]string{
				"dns":          "net.DefaultResolver returned",
				"tls":          "Dial returned; with early data: HandshakeComplete",
				"request_sent": "httptrace WroteRequest: all taken by the stream's buffer",
				"first_byte":   "httptrace GotFirstResponseByte",
				"end":          "the body's Read returned EOF",
			},
			Settings: map[string]string{
				"transport":             "http3.Transport's defaults, but as stated here",
				"sockets":               "one for each connection (library's: one for all); closed with it",
				"congestion control":    "New Reno with pacing, 32 packets to begin with",
				"receive windows":       "512 KiB, up to 6 MiB a stream and 15 MiB the connection",
				"packet size":           "1280 B to begin with, then path MTU discovery",
				"QUIC keep-alive":       "every 10 s",
				"max_idle_timeout":      "30 s, 5 s in the handshake",
				"compression":           "off (library's: gzip is asked for)",
				"redirects":             "not followed",
				"addresses":             "one is tried, IPv4 first",
				"tickets":               "LRU session cache (library's: none)",
				"early data":            "GET alone; other requests wait for the handshake; what is refused the driver sends again, over a new connection",
				"retries":               "what was not sent, or refused unprocessed, once",
				"QUIC_GO_DISABLE_GSO":   "unset: segmentation offload where the kernel has it",
				"request after failure": "goes over a new connection, also where only a stream broke",
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

func (l *library) Shares() bool { return true }

func (l *library) Prepare(step engine.Step) (engine.Request, error) {
	return httpcall.Prepare(l.origin.URL, l.codec, step)
}

func (l *library) Wires(mode string) engine.Wires {
	w := &wires{open: map[int]*connection{}}
	w.early.Store(mode == engine.EarlyData)
	w.client = &http.Client{
		Transport: &http3.Transport{
			TLSClientConfig:    l.origin.TLS(mode),
			DisableCompression: true,
			Dial:               w.dial,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w
}

type wires struct {
	client *http.Client
	early  atomic.Bool
	mu     sync.Mutex
	open   map[int]*connection // by local port
}

type connection struct {
	*quic.Conn
	record *engine.Connection
}

// Close closes all, also those that the library has given up but not closed.
func (w *wires) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, connection := range w.open {
		connection.CloseWithError(0, "")
	}
}

func (w *wires) Do(ctx context.Context, call *engine.Call, request engine.Request) error {
	err := w.send(ctx, call, *request.(*httpcall.Request))
	if errors.Is(err, quic.Err0RTTRejected) {
		// quic-go leaves it to the application to send again what was refused as early data.
		w.early.Store(false)
		err = w.send(ctx, call, *request.(*httpcall.Request))
	}
	return explain(err)
}

func (w *wires) send(ctx context.Context, call *engine.Call, request httpcall.Request) error {
	if w.early.Load() && request.Method == http.MethodGet {
		request.Method = http3.MethodGet0RTT
	}
	var carrier *connection
	hooks := httpcall.Hooks(call)
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		carrier = w.carrier(info.Conn.LocalAddr())
		call.On(carrier.record)
	}
	beforeHandshake := false
	hooks.WroteHeaders = func() {
		if beforeHandshake = !isDone(carrier.HandshakeComplete()); !beforeHandshake {
			carrier.secured()
		}
		call.Sent()
	}
	if err := httpcall.Do(ctx, w.client, &request, call, hooks); err != nil {
		return err
	}
	if beforeHandshake {
		// The answer could only be read with the keys of a finished handshake.
		carrier.secured()
		if carrier.ConnectionState().Used0RTT {
			call.SentEarly()
		}
	}
	return nil
}

func (w *wires) carrier(local net.Addr) *connection {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[local.(*net.UDPAddr).Port]
}

// dial does as http3.Transport's own, but with a socket for each connection.
func (w *wires) dial(ctx context.Context, address string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
	record := engine.CallOf(ctx).Dial()
	remote, err := resolve(ctx, address, record)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	port := socket.LocalAddr().(*net.UDPAddr).Port
	record.Bound(port)
	transport := &quic.Transport{Conn: socket}
	dial := transport.Dial
	if w.early.Load() {
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
		opened.secured()
	} else {
		go opened.awaitHandshake()
	}
	w.mu.Lock()
	w.open[port] = opened
	w.mu.Unlock()
	context.AfterFunc(conn.Context(), func() {
		record.Closed()
		transport.Close()
		socket.Close()
		w.mu.Lock()
		delete(w.open, port)
		w.mu.Unlock()
	})
	return conn, nil
}

func (c *connection) awaitHandshake() {
	select {
	case <-c.HandshakeComplete():
		c.secured()
	case <-c.Context().Done():
	}
}

func (c *connection) secured() { c.record.Secured("h3", c.ConnectionState().TLS) }

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
		record.Resolved()
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
