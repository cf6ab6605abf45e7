package quicgo

import (
	"errors"

	"commute/stacks/go/engine"
	"commute/stacks/go/httpcall"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func explain(err error) error {
	if err == nil {
		return nil
	}
	var ours *engine.CallError
	if errors.As(err, &ours) {
		return ours
	}
	if kind := kindOf(err); kind != "" {
		return engine.Fail(kind, err)
	}
	if known := httpcall.Explain(err); known != nil {
		return known
	}
	return engine.Fail("other", err)
}

func kindOf(err error) string {
	var unreachable *quic.HandshakeTimeoutError
	var idle *quic.IdleTimeoutError
	var lost *quic.StatelessResetError
	var transport *quic.TransportError
	var application *quic.ApplicationError
	var stream *quic.StreamError
	var http *http3.Error
	switch {
	case errors.As(err, &unreachable):
		return "connect"
	case errors.As(err, &idle), errors.As(err, &lost):
		return "reset"
	case errors.As(err, &transport):
		return kindOfTransport(transport)
	case errors.As(err, &http):
		return brokenBy(http.Remote)
	case errors.As(err, &application):
		return brokenBy(application.Remote)
	case errors.As(err, &stream):
		return brokenBy(stream.Remote)
	}
	return ""
}

func kindOfTransport(err *quic.TransportError) string {
	switch {
	case err.ErrorCode.IsCryptoError():
		return "tls"
	case err.ErrorCode == quic.ConnectionRefused:
		return "connect"
	}
	return brokenBy(err.Remote)
}

// brokenBy tells who ended it: the peer gave it up, or the peer's mistake made us.
func brokenBy(peer bool) string {
	if peer {
		return "reset"
	}
	return "protocol"
}
