// Package nethttp drives the standard library's HTTP client: HTTP/1.1 and HTTP/2.
package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"time"

	"commute/stacks/go/engine"
	"commute/stacks/go/exchange"
	"commute/stacks/go/httpcall"
	"commute/stacks/go/origin"
	"commute/stacks/go/tcp"
	"golang.org/x/net/http2"
)

// maxIdlePerHost exceeds the calls that a study runs concurrently. With the library's default, 2,
// the other connections would be closed after each call.
const maxIdlePerHost = 1000

// Stack returns the driver's description of net/http.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "Go net/http",
			StackVersion: runtime.Version(),
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"h1", "h2"},
			Codecs:       exchange.Codecs(),
			Capabilities: []string{"mtls", "resume", "parallel", "cancel", "plaintext", "jwt", "hmac", "submit", "until", "origins", "fetch"},
			Phases: map[string]string{
				"dns":          "httptrace DNSDone",
				"connect":      "httptrace ConnectDone",
				"tls":          "httptrace TLSHandshakeDone",
				"request_sent": "httptrace WroteRequest",
				"first_byte":   "httptrace GotFirstResponseByte",
				"end":          "the body's Read returned EOF",
			},
			Settings: map[string]string{
				"transport":           "http.DefaultTransport's settings except as listed",
				"MaxIdleConnsPerHost": "1000 (default 2), MaxIdleConns unlimited (default 100)",
				"IdleConnTimeout":     "90 s",
				"compression":         "off (default: requests gzip)",
				"redirects":           "not followed",
				"TCP_NODELAY":         "on",
				"TCP keep-alive":      "every 30 s",
				"happy eyeballs":      "second address family after 300 ms",
				"H2 windows":          "4 MiB per stream, 1 GiB per connection",
				"H1 buffers":          "4 KiB for reading, 4 KiB for writing",
				"tickets":             "LRU session cache (default: none)",
				"retries":             "GET when a reused connection proves dead; any request of which nothing was written or, over H2, that was refused unprocessed",
				"pool":                "H1: a call may take a connection that another frees while its own is being dialled; a later call is then the first to use the new one",
			},
		},
		Codec: "json",
		Open: func(setup engine.Setup) (engine.Library, error) {
			origin, err := origin.New(setup)
			return &library{origin, setup.Protocol, setup.Codec}, err
		},
	}
}

type library struct {
	origin   *origin.Origin
	protocol string
	codec    string
}

func (l *library) Multiplexes() bool { return l.protocol == "h2" }

func (l *library) Prepare(step engine.Step) (engine.Request, error) {
	return httpcall.Prepare(l.origin.URL, l.codec, step)
}

// NewPool makes a client per pool: a transport has no other way to drop connections in use.
func (l *library) NewPool(mode string) engine.ConnectionPool {
	// As in http.DefaultTransport.
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		connection := engine.CallOf(ctx).NewConnection()
		if l.origin.Plaintext() {
			connection.SetProtocol("h1")
		}
		return tcp.Dial(ctx, dialer, address, connection)
	}
	transport.TLSClientConfig = l.origin.TLS(mode)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(l.protocol == "h1")
	transport.Protocols.SetHTTP2(l.protocol == "h2")
	transport.DisableCompression = true
	transport.MaxIdleConns = 0
	transport.MaxIdleConnsPerHost = maxIdlePerHost
	return &pool{&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type pool struct {
	client *http.Client
}

// Close closes all connections, as none is in use; one still being dialled closes once it is up.
func (p *pool) Close() { p.client.CloseIdleConnections() }

func (p *pool) Do(ctx context.Context, call *engine.Call, request engine.Request) error {
	hooks := httpcall.Hooks(call)
	hooks.TLSHandshakeDone = func(state tls.ConnectionState, err error) {
		if err == nil {
			call.DialledConnection().HandshakeDone(negotiated(state), state)
		}
	}
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		conn := info.Conn
		if secure, isTLS := conn.(*tls.Conn); isTLS {
			conn = secure.NetConn()
		}
		call.UseConnection(conn.(*tcp.Conn).Connection)
	}
	return classifyError(httpcall.Do(ctx, p.client, request.(*httpcall.Request), call, hooks))
}

func negotiated(state tls.ConnectionState) string {
	if state.NegotiatedProtocol == "h2" {
		return "h2"
	}
	return "h1"
}

func classifyError(err error) error {
	if err == nil {
		return nil
	}
	if known := httpcall.ClassifyError(err); known != nil {
		return known
	}
	var classified *engine.CallError
	var stream http2.StreamError
	var malformed textproto.ProtocolError
	switch {
	case errors.As(err, &classified):
		return classified
	case errors.As(err, &stream):
		return engine.NewCallError(streamErrorKind(stream.Code), err)
	// The library does not export its types for these.
	case strings.Contains(err.Error(), "http2: server sent GOAWAY"),
		strings.Contains(err.Error(), "http2: client connection lost"),
		strings.Contains(err.Error(), "http: server closed idle connection"):
		return engine.NewCallError("reset", err)
	case errors.As(err, &malformed), strings.Contains(err.Error(), "malformed"):
		return engine.NewCallError("protocol", err)
	}
	return engine.NewCallError("other", err)
}

// streamErrorKind returns "protocol" for the codes that only a faulty peer causes, else "reset".
func streamErrorKind(code http2.ErrCode) string {
	switch code {
	case http2.ErrCodeProtocol, http2.ErrCodeFlowControl, http2.ErrCodeFrameSize, http2.ErrCodeCompression:
		return "protocol"
	}
	return "reset"
}
