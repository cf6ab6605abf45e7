package grpcgo

import (
	"errors"
	"io"
	"strings"

	"commute/stacks/go/engine"
	"commute/stacks/go/httpcall"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// explain puts a status in the protocol's words. grpc-go makes a status of every failure;
// it is the server's only if its trailers brought it.
func (w *wires) explain(err error, call *engine.Call, ofServer bool) error {
	if errors.Is(err, errEndedEarly) {
		return engine.Fail("protocol", err)
	}
	state := status.Convert(err)
	if ofServer {
		call.Status(int(state.Code()))
		return engine.Fail("status", err)
	}
	if failure := w.lastFailure(); failure != nil && state.Code() == codes.Unavailable {
		return failure
	}
	return engine.Fail(kindOf(state), err)
}

func kindOf(state *status.Status) string {
	switch state.Code() {
	case codes.Unavailable:
		return "reset"
	case codes.Internal, codes.Unknown, codes.Canceled:
		// grpc-go has no other sign of a stream that the peer gave up.
		if strings.Contains(state.Message(), "RST_STREAM") || strings.Contains(state.Message(), io.ErrUnexpectedEOF.Error()) {
			return "reset"
		}
		return "protocol"
	}
	return "other"
}

func kindOfHandshake(err error) string {
	if known := httpcall.Explain(err); known != nil {
		return known.Kind
	}
	return "tls"
}
