package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"commute/stacks/go/exchange"
	"commute/stacks/go/wirepb"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"google.golang.org/grpc"
)

// The same bounds as commute serve's; well-behaved clients never meet them.
const (
	maxHeaderBytes = 16 << 10
	maxStreams     = 100
	handshakeTime  = 30 * time.Second
	headerTime     = 60 * time.Second
	idleTime       = 120 * time.Second
	// Half of the time after which the lab kills a server that was asked to end.
	drainTime = 5 * time.Second
)

// A server is the listeners of all ports and what they share.
type server struct {
	options     options
	log         *logWriter
	connections atomic.Uint64 // so far
	requests    sync.WaitGroup
	unended     sync.WaitGroup // connections whose end is not logged yet
	answerer    exchange.Answerer
	answers     answers
	auth        *authenticator // nil if anybody may send requests
	chainBytes  int            // as sent in a full handshake
	addresses   []string
	closers     []func()
}

// mostPorts is how many ports the system is asked for until one is free over both TCP and UDP.
const mostPorts = 10

// open listens on an address over TCP and UDP, and serves.
func (s *server) open(address string, config *tls.Config) error {
	listener, udp, err := listen(address)
	for range mostPorts {
		if err == nil || !strings.HasSuffix(address, ":0") {
			break
		}
		// The port that the system chose over TCP is taken over UDP.
		listener, udp, err = listen(address)
	}
	if err != nil {
		return err
	}
	address = listener.Addr().String() // with the port that the system chose for port 0
	s.addresses = append(s.addresses, address)
	if s.options.grpc {
		s.serveGRPC(listener, config)
	} else {
		s.serveHTTP(listener, config)
	}
	s.serveHTTP3(udp, config)
	return nil
}

// listen listens on an address over TCP, and on the same port over UDP.
func listen(address string) (net.Listener, net.PacketConn, error) {
	tcp := net.ListenConfig{}
	tcp.SetMultipathTCP(false) // Go's default for listeners since 1.24; the lab measures TCP
	listener, err := tcp.Listen(context.Background(), network("tcp", address), address)
	if err != nil {
		return nil, nil, err
	}
	address = listener.Addr().String()
	udp, err := net.ListenPacket(network("udp", address), address)
	if err != nil {
		listener.Close()
		return nil, nil, err
	}
	return listener, udp, nil
}

// openPlaintext listens on an address over TCP and serves without TLS.
func (s *server) openPlaintext(address string) error {
	tcp := net.ListenConfig{}
	tcp.SetMultipathTCP(false)
	listener, err := tcp.Listen(context.Background(), network("tcp", address), address)
	if err != nil {
		return err
	}
	s.addresses = append(s.addresses, listener.Addr().String())
	if s.options.grpc {
		s.serveGRPC(listener, nil)
	} else {
		s.serveHTTP(listener, nil)
	}
	return nil
}

// serveHTTP serves without TLS if config is nil, and then HTTP/2 to clients with prior knowledge.
func (s *server) serveHTTP(listener net.Listener, config *tls.Config) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if config == nil {
		protocols.SetUnencryptedHTTP2(true)
		listener = plaintextListener{listener, s}
	} else {
		protocols.SetHTTP2(true)
		config = config.Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
		listener = newHandshakeListener(listener, config, s)
	}
	of := &http.Server{
		Handler:           s.account(s.routes()),
		TLSConfig:         config,
		Protocols:         protocols,
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          quiet,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if secure, isTLS := conn.(*tls.Conn); isTLS {
				conn = secure.NetConn()
			}
			return context.WithValue(ctx, connectionKey{}, conn.(*numberedConn).number)
		},
	}
	go of.Serve(listener)
	s.closers = append(s.closers, func() { of.Close() })
}

func (s *server) serveHTTP3(socket net.PacketConn, config *tls.Config) {
	of := &http3.Server{
		Handler:   s.account(s.routes()),
		TLSConfig: http3.ConfigureTLSConfig(config),
		QUICConfig: &quic.Config{
			Allow0RTT:          s.options.earlyData,
			MaxIncomingStreams: maxStreams,
			Tracer:             s.newTrace,
		},
		MaxHeaderBytes: maxHeaderBytes,
		IdleTimeout:    idleTime,
		ConnContext: func(ctx context.Context, conn *quic.Conn) context.Context {
			number := s.connections.Add(1)
			s.unended.Add(1)
			go s.logQUIC(conn, number)
			return context.WithValue(ctx, connectionKey{}, number)
		},
	}
	go of.Serve(socket)
	s.closers = append(s.closers, func() { of.Close() })
}

func (s *server) serveGRPC(listener net.Listener, config *tls.Config) {
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"h2"}
	}
	of := grpc.NewServer(
		grpc.Creds(&grpcTLS{config, s}),
		grpc.StatsHandler(&grpcAccounting{s}),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxRecvMsgSize(maxExchangeBytes+partOverhead),
		grpc.ForceServerCodecV2(newRawOrProto()),
	)
	of.RegisterService(s.guarded(wirepb.Bench_ServiceDesc), bench{})
	of.RegisterService(s.guarded(s.exchangeMethods()), nil)
	of.RegisterService(s.guarded(s.submitMethods()), nil)
	for _, service := range s.answers.services() {
		of.RegisterService(s.guarded(service), nil)
	}
	go of.Serve(listener)
	s.closers = append(s.closers, of.Stop)
}

// drain waits for the requests in flight, closes every connection, which ends those that stall,
// and waits until the last is logged.
func (s *server) drain() {
	done := make(chan struct{})
	go func() {
		s.requests.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
	for _, closeAll := range s.closers {
		closeAll()
	}
	<-done
	s.unended.Wait()
}
