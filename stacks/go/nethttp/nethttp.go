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

// keptPerHost is above the calls that a study runs side by side; the library's 2 would
// close the others' connections after each call.
const keptPerHost = 1000

// Stack is net/http.
func Stack() engine.Stack {
	return engine.Stack{
		Hello: engine.Hello{
			Stack:        "Go net/http",
			StackVersion: runtime.Version(),
			TLS:          "crypto/tls of " + runtime.Version(),
			Protocols:    []string{"h1", "h2"},
			Codecs:       exchange.Codecs(),
			Capabilities:    []string{"mtls", "resume", "parallel", "cancel"},
			Phases: map[string]string{
				"dns":          "httptrace DNSDone",
				"connect":      "httptrace ConnectDone",
				"tls":          "httptrace TLSHandshakeDone",
				"request_sent": "httptrace WroteRequest",
				"first_byte":   "httptrace GotFirstResponseByte",
				"end":          "the body's Read returned EOF",
			},
			Settings: map[string]string{
				"transport":           "http.DefaultTransport's, but as stated here",
				"MaxIdleConnsPerHost": "1000 (library's: 2), MaxIdleConns without limit (100)",
				"IdleConnTimeout":     "90 s",
				"compression":         "off (library's: gzip is asked for)",
				"redirects":           "not followed",
				"TCP_NODELAY":         "on",
				"TCP keep-alive":      "every 30 s",
				"happy eyeballs":      "second address family after 300 ms",
				"H2 windows":          "4 MiB a stream, 1 GiB the connection",
				"H1 buffers":          "4 KiB to read, 4 KiB to write",
				"tickets":             "LRU session cache (library's: none)",
				"retries":             "GET when a kept connection proves dead; any request of which nothing was written or, H2, that was refused unprocessed",
				"pool":                "H1: a call may take a connection that another frees while its own is being dialled, which a later call then is the first to use",
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

func (l *library) Shares() bool { return l.protocol == "h2" }

func (l *library) Prepare(step engine.Step) (engine.Request, error) {
	return httpcall.Prepare(l.origin.URL, l.codec, step)
}

// Wires is a client of its own: a transport has no other way to drop connections in use.
func (l *library) Wires(mode string) engine.Wires {
	// As in http.DefaultTransport.
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return tcp.Dial(ctx, dialer, address, engine.CallOf(ctx).Dial())
	}
	transport.TLSClientConfig = l.origin.TLS(mode)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(l.protocol == "h1")
	transport.Protocols.SetHTTP2(l.protocol == "h2")
	transport.DisableCompression = true
	transport.MaxIdleConns = 0
	transport.MaxIdleConnsPerHost = keptPerHost
	return &wires{&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type wires struct {
	client *http.Client
}

// Close closes idle connections, which are all, and one still being dialled once it is up.
func (w *wires) Close() { w.client.CloseIdleConnections() }

func (w *wires) Do(ctx context.Context, call *engine.Call, request engine.Request) error {
	hooks := httpcall.Hooks(call)
	hooks.TLSHandshakeDone = func(state tls.ConnectionState, err error) {
		if err == nil {
			call.Dialled().Secured(spoken(state), state)
		}
	}
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		call.On(info.Conn.(*tls.Conn).NetConn().(*tcp.Conn).Record)
	}
	return explain(httpcall.Do(ctx, w.client, request.(*httpcall.Request), call, hooks))
}

func spoken(state tls.ConnectionState) string {
	if state.NegotiatedProtocol == "h2" {
		return "h2"
	}
	return "h1"
}

func explain(err error) error {
	if err == nil {
		return nil
	}
	if known := httpcall.Explain(err); known != nil {
		return known
	}
	var ours *engine.CallError
	var stream http2.StreamError
	var malformed textproto.ProtocolError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &stream):
		return engine.Fail(kindOf(stream.Code), err)
	// The library's own types for these are hidden.
	case strings.Contains(err.Error(), "http2: server sent GOAWAY"),
		strings.Contains(err.Error(), "http2: client connection lost"),
		strings.Contains(err.Error(), "http: server closed idle connection"):
		return engine.Fail("reset", err)
	case errors.As(err, &malformed), strings.Contains(err.Error(), "malformed"):
		return engine.Fail("protocol", err)
	}
	return engine.Fail("other", err)
}

// kindOf an HTTP/2 stream's error: what only a broken peer causes, or a stream given up.
func kindOf(code http2.ErrCode) string {
	switch code {
	case http2.ErrCodeProtocol, http2.ErrCodeFlowControl, http2.ErrCodeFrameSize, http2.ErrCodeCompression:
		return "protocol"
	}
	return "reset"
}
