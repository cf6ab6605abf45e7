package exchange

import (
	"slices"
	"strings"

	"commute/stacks/go/codec"
)

// Identity is the encoding of what is not compressed.
const Identity = "identity"

var forms = map[string]string{
	"json":          "application/json",
	"protobuf":      "application/protobuf",
	"msgpack":       "application/vnd.msgpack",
	"msgpack-array": "application/vnd.msgpack; form=array",
	"msgpack-old":   "application/vnd.msgpack; form=old",
}

// Compression as the server's: it answers at these levels.
var encodings = map[string]string{"": Identity, "gzip-6": "gzip", "zstd-3": "zstd"}

// Codecs are those that can go over HTTP to the server and back.
func Codecs() []string {
	var names []string
	for _, offer := range codec.Offers() {
		contentType, encoding := Media(offer.Codec)
		if contentType != "" && encoding != "" && !slices.Contains(names, offer.Codec) {
			names = append(names, offer.Codec)
		}
	}
	return names
}

// Media is what HTTP calls a codec: content type and encoding.
func Media(name string) (contentType, encoding string) {
	form, compression, _ := strings.Cut(name, "+")
	return forms[form], encodings[compression]
}

// offer is the first of a codec. Its being offered was checked at setup.
func offer(name string) codec.Offer {
	offers := codec.Offers()
	return offers[slices.IndexFunc(offers, func(o codec.Offer) bool { return o.Codec == name })]
}
