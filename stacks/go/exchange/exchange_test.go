package exchange

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBig100HasThePublishedSizes(t *testing.T) {
	for name, bytes := range map[string]int{"json": 17_211, "msgpack-old": 11_118, "protobuf": 6_433} {
		x := prepared(t, name, "big-100", "Big", "")
		if !x.Create() {
			t.Fatal("the message was made before its exchange")
		}
		body, err := x.Encode()
		if err != nil || len(body) != bytes {
			t.Errorf("%s: %d bytes (%v), the unity-msgpack study published %d", name, len(body), err, bytes)
		}
	}
}

func TestCompareDetectsADifferentEcho(t *testing.T) {
	for _, name := range Codecs() {
		x := prepared(t, name, "hello", "Small", "{\ns 68656c6c6f\n}\n")
		if x.Create() {
			t.Fatal("a message read from its file is made again")
		}
		body, err := x.Encode()
		if err != nil {
			t.Fatal(name, err)
		}
		if err := x.Decode(body); err != nil || x.Compare() != nil {
			t.Errorf("%s: %v, %v", name, err, x.Compare())
		}
		other := prepared(t, name, "other", "Small", "{\ns 6f74686572\n}\n")
		body, err = other.Encode()
		if err != nil {
			t.Fatal(name, err)
		}
		if err := x.Decode(body); err != nil || x.Compare() == nil {
			t.Errorf("%s: took another message for this one (%v)", name, err)
		}
	}
}

func TestMediaTypeSeparatesCompression(t *testing.T) {
	contentType, encoding := MediaType("msgpack-old")
	if contentType != "application/vnd.msgpack; form=old" || encoding != Identity {
		t.Error(contentType, encoding)
	}
	contentType, encoding = MediaType("protobuf+zstd-3")
	if contentType != "application/protobuf" || encoding != "zstd" {
		t.Error(contentType, encoding)
	}
}

func prepared(t *testing.T, codec, message, kind, value string) *Exchange {
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := New(codec, map[string]string{message: file})
	if err != nil {
		t.Fatal(err)
	}
	x, err := source.Prepare(message, kind)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
