package codec

import (
	"google.golang.org/protobuf/proto"

	"commute/stacks/go/message"
)

// protobuf implements Codec for one message of the generated package benchpb.
type protobuf struct {
	new      func() proto.Message
	populate func(plain any) proto.Message
	convert  func(own any) any
}

var protobufs = map[string]protobuf{
	"Small":       generated(populateSmall, convertSmall),
	"AddressBook": generated(populateAddressBook, convertAddressBook),
	"Newsfeed":    generated(populateNewsfeed, convertNewsfeed),
	"Large":       generated(populateLarge, convertLarge),
	"Diag":        generated(populateDiag, convertDiag),
	"Big":         generated(populateBig, convertBig),
	"PerlData":    generated(populatePerlData, convertPerlData),
	"ApiPage":     generated(populateApiPage, convertApiPage),
	"Echo":        generated(populateEcho, convertEcho),
}

func newProtobuf(kind message.Kind) Codec { return protobufs[kind.Name] }

func generated[Plain, Own any, Message interface {
	*Own
	proto.Message
}](populate func(*Plain) Message, convert func(Message) Plain) protobuf {
	return protobuf{
		new:      func() proto.Message { return Message(new(Own)) },
		populate: func(plain any) proto.Message { return populate(plain.(*Plain)) },
		convert: func(own any) any {
			plain := convert(own.(Message))
			return &plain
		},
	}
}

func (p protobuf) Populate(plain any) any { return p.populate(plain) }

func (protobuf) Encode(own any) ([]byte, error) { return proto.Marshal(own.(proto.Message)) }

func (p protobuf) Decode(encoded []byte) (any, error) {
	own := p.new()
	return own, proto.Unmarshal(encoded, own)
}

func (p protobuf) Convert(own any) any { return p.convert(own) }

// The mappings in populate.go and convert.go are generated, and are what an app writes by hand: protobuf-go
// has none. Its getters treat an absent message as an empty one.

func populateAll[Plain, Own any](plain []Plain, populate func(*Plain) *Own) []*Own {
	own := make([]*Own, len(plain))
	for i := range plain {
		own[i] = populate(&plain[i])
	}
	return own
}

func convertAll[Own, Plain any](own []*Own, convert func(*Own) Plain) []Plain {
	plain := make([]Plain, len(own))
	for i := range own {
		plain[i] = convert(own[i])
	}
	return plain
}
