package exchange

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBigIsTheRecordOfStudy4(t *testing.T) {
	for name, bytes := range map[string]int{"json": 17_211, "msgpack-old": 11_118, "protobuf": 6_433} {
		x := prepared(t, name, "big-100", "Big", "")
		if !x.Create() {
			t.Fatal("it was ready before its exchange")
		}
		body, err := x.Encode()
		if err != nil || len(body) != bytes {
			t.Errorf("%s: %d bytes (%v), published are %d", name, len(body), err, bytes)
		}
	}
}

func TestAnEchoThatDiffersIsSeen(t *testing.T) {
	for _, name := range Codecs() {
		x := prepared(t, name, "hello", "Small", "{\ns 68656c6c6f\n}\n")
		if x.Create() {
			t.Fatal("it was read from its file")
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
			t.Errorf("%s: another message passes for this one (%v)", name, err)
		}
	}
}

func TestCompressionIsNotPartOfTheType(t *testing.T) {
	contentType, encoding := Media("msgpack-old")
	if contentType != "application/vnd.msgpack; form=old" || encoding != Identity {
		t.Error(contentType, encoding)
	}
	contentType, encoding = Media("protobuf+zstd-3")
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
