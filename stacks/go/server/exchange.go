package main

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"commute/stacks/go/codec"
	"commute/stacks/go/exchange"
	"commute/stacks/go/message"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	maxExchangeBytes = 4 << 20
	exchangeService  = "commute.bench.v1.Exchange"
)

// exchange answers a message with an equal one, in the same codec.
func (s *server) exchange(w http.ResponseWriter, r *http.Request) {
	kind, found := message.Find(r.PathValue("kind"))
	if !found {
		http.Error(w, "unknown kind of message", http.StatusNotFound)
		return
	}
	offer, body, ok := s.readMessage(w, r)
	if !ok {
		return
	}
	answer, err := s.answerer.Answer(offer, kind, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.(*countedResponse).exchange = exchangeOf(answer)
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.Write(answer.Body)
}

// readMessage returns a request's message and the codec that it names, or answers why it cannot.
func (s *server) readMessage(w http.ResponseWriter, r *http.Request) (offer codec.Offer, body []byte, ok bool) {
	offer, found := exchange.Find(r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"))
	if !found {
		http.Error(w, "unknown content type or encoding", http.StatusUnsupportedMediaType)
		return offer, nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxExchangeBytes))
	if err != nil {
		s.failToRead(w, err)
	}
	return offer, body, err == nil
}

func exchangeOf(answer exchange.Answer) exchangeEvent {
	return exchangeEvent{&answer.Codec, &answer.DecodeNs, &answer.EncodeNs}
}

// exchangeMethods returns the service of crates/shared/messages/proto/commute/bench/v1/exchange.proto: one
// method per kind of message.
func (s *server) exchangeMethods() grpc.ServiceDesc {
	service := grpc.ServiceDesc{ServiceName: exchangeService, HandlerType: (*any)(nil)}
	offer, _ := exchange.Find("application/protobuf", "")
	for _, kind := range message.Kinds() {
		answer := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var body []byte
			if err := decode(&body); err != nil {
				return nil, err
			}
			answer, err := s.answerer.Answer(offer, kind, body)
			if err != nil {
				return nil, status.Error(codes.InvalidArgument, err.Error())
			}
			ctx.Value(rpcKey{}).(*rpc).event.exchangeEvent = exchangeOf(answer)
			return answer.Body, nil
		}
		service.Methods = append(service.Methods, grpc.MethodDesc{MethodName: kind.Name, Handler: answer})
	}
	return service
}

// rawOrProto is protobuf's codec, which also passes encoded messages through: exchanges encode and
// decode outside grpc-go, in order to time it.
type rawOrProto struct{ encoding.CodecV2 }

func newRawOrProto() rawOrProto { return rawOrProto{encoding.GetCodecV2(encodingproto.Name)} }

// Marshal encodes a message.
func (c rawOrProto) Marshal(value any) (mem.BufferSlice, error) {
	if encoded, ok := value.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
	}
	return c.CodecV2.Marshal(value)
}

// Unmarshal decodes a message.
func (c rawOrProto) Unmarshal(data mem.BufferSlice, value any) error {
	if encoded, ok := value.(*[]byte); ok {
		*encoded = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, value)
}
