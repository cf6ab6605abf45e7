package sign

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const created = 1618884473

func key(t *testing.T) *Key {
	key, err := NewKey("phone-7", []byte("thirty-two bytes, from a key store"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func example() Request {
	return Request{"POST", "Server.test:443", "/echo", "", ContentDigest([]byte(`{"hello": "world"}`))}
}

func TestTheExampleOfTheProtocolIsReproduced(t *testing.T) {
	page, err := os.ReadFile("../../../docs/driver-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := key(t).Sign(example(), created, nonceOf(7))
	for _, line := range []string{
		"content-digest: " + example().Digest,
		"signature-input: " + fields.Input,
		"signature: " + fields.Signature,
	} {
		if !strings.Contains(string(page), line+"\n") {
			t.Error(line)
		}
	}
}

// The codes are those of crates/shared/sign/tests/requests.rs.
func TestTheCodesOfChunksAreThoseOfTheRustCrate(t *testing.T) {
	stream := example()
	stream.Digest = ""
	fields := key(t).Sign(stream, created, nonceOf(7))
	if want := "commute=:pFsvNOWluJsOzzjOhQDSKuTtUZljsW/dxgqponfx+V4=:"; fields.Signature != want {
		t.Errorf("the head: %s, want %s", fields.Signature, want)
	}
	chunks := key(t).Chunks(fields.Code)
	for i, want := range []string{"bIieWLYgoI3zbYlweX01U3lfzr9SXk+e8rtUD9AUUcY=", "26muILTkfV7HFrgzjR5vPnsXDhLxOvb4PJ54m2Ajfck="} {
		code := chunks.Code([]byte([]string{"one", "two"}[i]), i == 1)
		if got := base64.StdEncoding.EncodeToString(code); got != want {
			t.Errorf("chunk %d: %s, want %s", i, got, want)
		}
	}
}

func TestWeakKeysAreRefused(t *testing.T) {
	for id, secret := range map[string]int{"short": 31, "": 32, "a b": 32, `a"`: 32} {
		if _, err := NewKey(id, make([]byte, secret)); err == nil {
			t.Errorf("accepted %q with %d bytes", id, secret)
		}
	}
}

func TestAKeyIsReadFromBase64OnOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hmac.key")
	text := base64.StdEncoding.EncodeToString([]byte("thirty-two bytes, from a key store")) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := ReadKey("phone-7", file)
	if err != nil || read.Sign(example(), created, nonceOf(7)) != key(t).Sign(example(), created, nonceOf(7)) {
		t.Error("another key:", err)
	}
}
