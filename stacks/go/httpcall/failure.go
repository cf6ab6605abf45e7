package httpcall

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"commute/stacks/go/engine"
)

// Explain puts the errors of sockets and TLS in the protocol's words; nil if it is neither.
func Explain(err error) *engine.CallError {
	var name *net.DNSError
	var socket *net.OpError
	switch {
	case errors.As(err, &name):
		return engine.Fail("dns", err)
	case isTLS(err):
		return engine.Fail("tls", err)
	case errors.As(err, &socket) && socket.Op == "dial":
		return engine.Fail("connect", err)
	case isBroken(err):
		return engine.Fail("reset", err)
	}
	return nil
}

func isTLS(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var misnamed x509.HostnameError
	var alert *net.OpError
	var alertOfQUIC tls.AlertError
	var notTLS tls.RecordHeaderError
	return errors.As(err, &untrusted) || errors.As(err, &misnamed) || errors.As(err, &alertOfQUIC) ||
		errors.As(err, &notTLS) ||
		// crypto/tls: an alert received or sent.
		errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error")
}

func isBroken(err error) bool {
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
