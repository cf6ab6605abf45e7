package quicgo

import (
	"errors"

	"commute/stacks/go/engine"
	"commute/stacks/go/httpcall"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func classifyError(err error) error {
	if err == nil {
		return nil
	}
	var classified *engine.CallError
	if errors.As(err, &classified) {
		return classified
	}
	if kind := errorKind(err); kind != "" {
		return engine.NewCallError(kind, err)
	}
	if known := httpcall.ClassifyError(err); known != nil {
		return known
	}
	return engine.NewCallError("other", err)
}

func errorKind(err error) string {
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
		return transportErrorKind(transport)
	case errors.As(err, &http):
		return kindByEnder(http.Remote)
	case errors.As(err, &application):
		return kindByEnder(application.Remote)
	case errors.As(err, &stream):
		return kindByEnder(stream.Remote)
	}
	return ""
}

func transportErrorKind(err *quic.TransportError) string {
	switch {
	case err.ErrorCode.IsCryptoError():
		return "tls"
	case err.ErrorCode == quic.ConnectionRefused:
		return "connect"
	}
	return kindByEnder(err.Remote)
}

// kindByEnder returns "reset" if the peer ended it, and "protocol" if we did because of the peer's
// mistake.
func kindByEnder(remote bool) string {
	if remote {
		return "reset"
	}
	return "protocol"
}
