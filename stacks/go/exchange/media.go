package exchange

import (
	"slices"
	"strings"

	"commute/stacks/go/codec"
)

// Identity is the content encoding of uncompressed bodies.
const Identity = "identity"

var contentTypes = map[string]string{
	"json":          "application/json",
	"protobuf":      "application/protobuf",
	"msgpack":       "application/vnd.msgpack",
	"msgpack-array": "application/vnd.msgpack; form=array",
	"msgpack-old":   "application/vnd.msgpack; form=old",
}

// The server compresses its answers at these levels.
var contentEncodings = map[string]string{"": Identity, "gzip-6": "gzip", "zstd-3": "zstd"}

// Codecs returns the names of the codecs that the server can answer in.
func Codecs() []string {
	var names []string
	for _, offer := range codec.Offers() {
		contentType, encoding := MediaType(offer.Codec)
		if contentType != "" && encoding != "" && !slices.Contains(names, offer.Codec) {
			names = append(names, offer.Codec)
		}
	}
	return names
}

// MediaType returns a codec's content type and content encoding; either is empty if unknown.
func MediaType(codecName string) (contentType, contentEncoding string) {
	form, compression, _ := strings.Cut(codecName, "+")
	return contentTypes[form], contentEncodings[compression]
}

// offer returns a codec's first offer. Setup has checked that there is one.
func offer(codecName string) codec.Offer {
	offers := codec.Offers()
	return offers[slices.IndexFunc(offers, func(o codec.Offer) bool { return o.Codec == codecName })]
}
