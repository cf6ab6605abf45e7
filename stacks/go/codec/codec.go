// Package codec calls Go's codec libraries as their authors advise an app to, each behind the
// same four methods (docs/codec-runner.md).
package codec

import (
	"runtime"

	"commute/stacks/go/message"
	"commute/stacks/go/module"
)

// A Codec is one library, ready for one kind of message. What it does not refuse, it has
// done; no method keeps what it is given.
type Codec interface {
	// Populate makes the library's own object of the plain one.
	Populate(plain any) any
	Encode(own any) ([]byte, error)
	// Decode returns a new object of the library's own.
	Decode(encoded []byte) (own any, err error)
	// Convert makes a plain object of the library's own.
	Convert(own any) any
}

// An Offer is a codec of one library, as hello names it.
type Offer struct {
	Codec          string   `json:"codec"`
	Library        string   `json:"library"`
	LibraryVersion string   `json:"library_version"`
	Parts          []string `json:"parts"`
	Caveat         string   `json:"caveat,omitempty"`
	RejectsValid   string   `json:"rejects_valid,omitempty"`

	New func(message.Kind) Codec `json:"-"`
}

// Parts of the work.
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

// Offers returns every codec that this program has.
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
		escapes   = `<, > and & stand escaped in its JSON, which is Marshal's default`
		byName    = "map keys stand sorted by name"
		floats    = "refuses a double where the field is a float, which languages without floats write"
		jsonGzip  = "encoding/json + compress/gzip"
		jsonZstd  = "encoding/json + klauspost/compress/zstd"
		pbGzip    = "protobuf-go + compress/gzip"
		pbZstd    = "protobuf-go + klauspost/compress/zstd"
		goMsgpack = "hashicorp/go-msgpack"
	)
	return []Offer{
		{"json", "encoding/json", standard, twoParts, escapes, "", newJSON},
		{"json+gzip-1", jsonGzip, standard, twoParts, escapes, "", gzipped(newJSON, 1)},
		{"json+gzip-6", jsonGzip, standard, twoParts, escapes, "", gzipped(newJSON, 6)},
		{"json+zstd-3", jsonZstd, standard + " + " + klauspost, twoParts, escapes, "", zstded(newJSON)},
		{"protobuf", "protobuf-go", protobuf, fourParts, "", "", newProtobuf},
		{"protobuf+gzip-6", pbGzip, protobuf + " + " + standard, fourParts, "", "", gzipped(newProtobuf, 6)},
		{"protobuf+zstd-3", pbZstd, protobuf + " + " + klauspost, fourParts, "", "", zstded(newProtobuf)},
		{"msgpack", "tinylib/msgp", tinylib, twoParts, "", floats, newGeneratedMsgpack},
		{"msgpack", goMsgpack, hashicorp, twoParts, byName, "", newMsgpack},
		{"msgpack-array", goMsgpack, hashicorp, twoParts, "", "", newMsgpackArray},
		{"msgpack-old", goMsgpack, hashicorp, twoParts, byName, "", newMsgpackOld},
		{"cbor", "fxamacker/cbor", fxamacker, twoParts, "", "", newCBOR},
		{"empty", "none", "none", twoParts, "", "", newEmpty},
	}
}

// asIs is for libraries that work on plain objects.
type asIs struct{}

func (asIs) Populate(plain any) any { return plain }
func (asIs) Convert(own any) any    { return own }
