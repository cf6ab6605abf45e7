// Package codec calls Go's codec libraries as their authors recommend, each behind the same four
// methods (docs/codec-runner.md).
package codec

import (
	"runtime"

	"commute/stacks/go/message"
	"commute/stacks/go/module"
)

// A Codec is one library, ready for one kind of message. No method retains its argument.
type Codec interface {
	// Populate converts a plain object into the library's own.
	Populate(plain any) any
	// Encode encodes the library's own object.
	Encode(own any) ([]byte, error)
	// Decode decodes into a new object of the library's own.
	Decode(encoded []byte) (own any, err error)
	// Convert converts the library's own object into a plain one.
	Convert(own any) any
}

// An Offer is one library's implementation of a codec, as listed in hello.
type Offer struct {
	Codec          string   `json:"codec"`
	Library        string   `json:"library"`
	LibraryVersion string   `json:"library_version"`
	Parts          []string `json:"parts"`
	Caveat         string   `json:"caveat,omitempty"`
	RejectsValid   string   `json:"rejects_valid,omitempty"`

	// New makes the codec for one kind of message.
	New func(message.Kind) Codec `json:"-"`
}

// The parts of a codec's work.
const (
	Populate = "populate"
	Encode   = "encode"
	Decode   = "decode"
	Convert  = "convert"
)

var (
	twoParts  = []string{Encode, Decode}
	fourParts = []string{Populate, Encode, Decode, Convert}
)

// Offers returns every codec that this program has. For a codec with several libraries, drivers
// use the first.
func Offers() []Offer {
	var (
		standard  = runtime.Version()
		protobuf  = module.Version("google.golang.org/protobuf")
		hashicorp = module.Version("github.com/hashicorp/go-msgpack/v2")
		tinylib   = module.Version("github.com/tinylib/msgp")
		fxamacker = module.Version("github.com/fxamacker/cbor/v2")
		klauspost = module.Version("github.com/klauspost/compress")
	)
	const (
		escapes   = `<, > and & are escaped in its JSON, as is Marshal's default`
		byName    = "map keys are sorted by name"
		floats    = "rejects a double in a float field, which languages without floats write"
		jsonGzip  = "encoding/json + compress/gzip"
		jsonZstd  = "encoding/json + klauspost/compress/zstd"
		pbGzip    = "protobuf-go + compress/gzip"
		pbZstd    = "protobuf-go + klauspost/compress/zstd"
		goMsgpack = "hashicorp/go-msgpack"
	)
	return []Offer{
		{"json", "encoding/json", standard, twoParts, escapes, "", newJSON},
		{"json+gzip-1", jsonGzip, standard, twoParts, escapes, "", withGzip(newJSON, 1)},
		{"json+gzip-6", jsonGzip, standard, twoParts, escapes, "", withGzip(newJSON, 6)},
		{"json+zstd-3", jsonZstd, standard + " + " + klauspost, twoParts, escapes, "", withZstd(newJSON)},
		{"protobuf", "protobuf-go", protobuf, fourParts, "", "", newProtobuf},
		{"protobuf+gzip-6", pbGzip, protobuf + " + " + standard, fourParts, "", "", withGzip(newProtobuf, 6)},
		{"protobuf+zstd-3", pbZstd, protobuf + " + " + klauspost, fourParts, "", "", withZstd(newProtobuf)},
		{"msgpack", "tinylib/msgp", tinylib, twoParts, "", floats, newGeneratedMsgpack},
		{"msgpack", goMsgpack, hashicorp, twoParts, byName, "", newMsgpack},
		{"msgpack-array", goMsgpack, hashicorp, twoParts, "", "", newMsgpackArray},
		{"msgpack-old", goMsgpack, hashicorp, twoParts, byName, "", newMsgpackOld},
		{"cbor", "fxamacker/cbor", fxamacker, twoParts, "", "", newCBOR},
		{"empty", "none", "none", twoParts, "", "", newEmpty},
	}
}

// identity implements Populate and Convert for libraries that work on plain objects.
type identity struct{}

func (identity) Populate(plain any) any { return plain }
func (identity) Convert(own any) any    { return own }
