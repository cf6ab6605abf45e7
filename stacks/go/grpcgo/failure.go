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

// classifyError classifies a status. grpc-go makes a status of every failure; the server sent it
// only if it came in trailers.
func (p *pool) classifyError(err error, call *engine.Call, fromServer bool) error {
	if errors.Is(err, errEndedEarly) {
		return engine.NewCallError("protocol", err)
	}
	state := status.Convert(err)
	if fromServer {
		call.SetStatus(int(state.Code()))
		return engine.NewCallError("status", err)
	}
	if failure := p.lastFailure(); failure != nil && state.Code() == codes.Unavailable {
		return failure
	}
	return engine.NewCallError(statusKind(state), err)
}

func statusKind(state *status.Status) string {
	switch state.Code() {
	case codes.Unavailable:
		return "reset"
	case codes.Internal, codes.Unknown, codes.Canceled:
		// grpc-go reports a stream reset by the peer in no other way.
		if strings.Contains(state.Message(), "RST_STREAM") || strings.Contains(state.Message(), io.ErrUnexpectedEOF.Error()) {
			return "reset"
		}
		return "protocol"
	}
	return "other"
}

func handshakeErrorKind(err error) string {
	if classified := httpcall.ClassifyError(err); classified != nil {
		return classified.Kind
	}
	return "tls"
}
