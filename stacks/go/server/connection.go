package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"strings"
	"sync"

	"commute/stacks/go/engine"
	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"
)

// quicCongestion is quic-go's congestion control, by Linux's name: it constructs its Cubic sender
// with Reno switched on, and has no option for it.
const quicCongestion = "reno"

// connectionKey is the key of a connection's number in the context of its requests.
type connectionKey struct{}

// quiet drops net/http's lines about connections that clients broke; the log has their requests.
var quiet = log.New(io.Discard, "", 0)

// A numberedConn is a TCP connection and its number in the log. It logs its end.
type numberedConn struct {
	net.Conn
	server        *server
	number        uint64 // 0 until it is logged
	initialWindow *uint64
	closing       sync.Once
}

// Close logs the end of the connection before it closes it.
func (c *numberedConn) Close() error {
	c.closing.Do(func() {
		if c.number == 0 {
			return
		}
		told := tcpSender(c.Conn)
		told.InitialWindowBytes = c.initialWindow
		c.server.logClosed(c.number, told)
		c.server.unended.Done()
	})
	return c.Conn.Close()
}

// plaintext logs a connection without TLS.
func (s *server) plaintext(raw net.Conn) *numberedConn {
	numbered := &numberedConn{Conn: raw, server: s, initialWindow: tcpSender(raw).WindowBytes}
	numbered.number = s.connections.Add(1)
	s.unended.Add(1)
	s.logConnection(numbered.number, "tcp", raw.RemoteAddr(), tls.ConnectionState{}, tcpCongestion(raw))
	return numbered
}

// A plaintextListener accepts connections without TLS.
type plaintextListener struct {
	net.Listener
	server *server
}

// Accept returns the next connection.
func (l plaintextListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.server.plaintext(raw), nil
}

// handshake completes a TLS handshake and logs the connection.
func (s *server) handshake(raw net.Conn, config *tls.Config) (*tls.Conn, uint64, error) {
	numbered := &numberedConn{Conn: raw, server: s, initialWindow: tcpSender(raw).WindowBytes}
	conn := tls.Server(numbered, config)
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, 0, err
	}
	numbered.number = s.connections.Add(1)
	s.unended.Add(1)
	s.logConnection(numbered.number, "tcp", raw.RemoteAddr(), conn.ConnectionState(), tcpCongestion(raw))
	return conn, numbered.number, nil
}

// logQUIC logs a QUIC connection once its handshake has completed, and its end. A client may leave with
// the answer to its early data before that.
func (s *server) logQUIC(conn *quic.Conn, number uint64) {
	defer s.unended.Done()
	select {
	case <-conn.HandshakeComplete():
	case <-conn.Context().Done():
		select {
		case <-conn.HandshakeComplete():
		default:
			if !conn.ConnectionState().Used0RTT {
				return
			}
		}
	}
	congestion := quicCongestion
	s.logConnection(number, "quic", conn.RemoteAddr(), conn.ConnectionState().TLS, &congestion)
	<-conn.Context().Done()
	s.logClosed(number, quicSender(conn))
}

// logConnection logs a connection; its state is empty without TLS.
func (s *server) logConnection(number uint64, transport string, peer net.Addr, state tls.ConnectionState, congestion *string) {
	event := connectionEvent{
		Event:      "connection",
		Connection: number,
		AtNs:       engine.Now(),
		Transport:  transport,
		ALPN:       state.NegotiatedProtocol,
		Group:      groupName(state.CurveID),
		Resumed:    state.DidResume,
		HelloRetry: state.HelloRetryRequest,
		Congestion: congestion,
	}
	event.PeerPort, event.IPVersion = portAndVersion(peer)
	if state.Version != 0 {
		event.TLSVersion = strings.Replace(tls.VersionName(state.Version), "TLS 1.", "TLSv1_", 1)
		event.Cipher = cipherName(state)
	}
	if state.Version != 0 && !state.DidResume {
		event.ChainBytes = s.chainBytes
	}
	if len(state.PeerCertificates) > 0 {
		event.ClientCert = &state.PeerCertificates[0].Subject.CommonName
	}
	s.log.write(event)
}

// logClosed logs the end of a connection that was logged.
func (s *server) logClosed(number uint64, told sender) {
	s.log.write(closedEvent{Event: "closed", Connection: number, AtNs: engine.Now(), Sender: told})
}

func portAndVersion(peer net.Addr) (port uint16, version int) {
	var ip net.IP
	switch at := peer.(type) {
	case *net.TCPAddr:
		ip, port = at.IP, uint16(at.Port)
	case *net.UDPAddr:
		ip, port = at.IP, uint16(at.Port)
	}
	if ip.To4() != nil {
		return port, 4
	}
	return port, 6
}

// tcpCongestion reads the congestion control back from the socket.
func tcpCongestion(conn net.Conn) *string {
	socket, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil
	}
	var name string
	controlErr := socket.Control(func(fd uintptr) {
		name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
	if controlErr != nil || err != nil {
		return nil
	}
	return &name
}

// cipherName returns rustls's name for the cipher suite, as in commute serve's log.
func cipherName(state tls.ConnectionState) string {
	name := tls.CipherSuiteName(state.CipherSuite)
	if state.Version == tls.VersionTLS13 {
		return strings.Replace(name, "TLS_", "TLS13_", 1)
	}
	return name
}

// groupName returns rustls's name for the key exchange group.
func groupName(group tls.CurveID) string {
	switch group {
	case tls.CurveP256:
		return "secp256r1"
	case tls.CurveP384:
		return "secp384r1"
	case 0: // no TLS, or a resumed session of TLS 1.2
		return ""
	}
	return group.String()
}

// A handshakeListener accepts connections whose handshake has completed, in the order in which
// they complete.
type handshakeListener struct {
	net.Listener
	ready  chan net.Conn
	done   chan struct{}
	closed sync.Once
}

func newHandshakeListener(inner net.Listener, config *tls.Config, s *server) *handshakeListener {
	l := &handshakeListener{Listener: inner, ready: make(chan net.Conn), done: make(chan struct{})}
	go func() {
		defer l.Close()
		for {
			raw, err := inner.Accept()
			if err != nil {
				return
			}
			go func() {
				conn, _, err := s.handshake(raw, config)
				if err != nil {
					raw.Close()
					return
				}
				select {
				case l.ready <- conn:
				case <-l.done:
					conn.NetConn().Close()
				}
			}()
		}
	}()
	return l
}

// Accept returns the next connection.
func (l *handshakeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends listening.
func (l *handshakeListener) Close() error {
	l.closed.Do(func() { close(l.done) })
	return l.Listener.Close()
}
