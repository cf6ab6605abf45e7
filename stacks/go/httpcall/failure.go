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

// ClassifyError classifies errors of name resolution, sockets and TLS. It returns nil for others.
func ClassifyError(err error) *engine.CallError {
	var dns *net.DNSError
	var socket *net.OpError
	switch {
	case errors.As(err, &dns):
		return engine.NewCallError("dns", err)
	case isTLS(err):
		return engine.NewCallError("tls", err)
	case errors.As(err, &socket) && socket.Op == "dial":
		return engine.NewCallError("connect", err)
	case isBroken(err):
		return engine.NewCallError("reset", err)
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
		// How crypto/tls reports an alert received or sent.
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
