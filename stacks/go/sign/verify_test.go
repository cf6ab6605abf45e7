package sign

import (
	"errors"
	"strings"
	"testing"
)

func TestARequestIsAcceptedOnceWithinTheWindow(t *testing.T) {
	fields := key(t).Sign(example(), created, nonceOf(7))
	for nowS, want := range map[int64]error{
		created - WindowS: nil, created + WindowS: nil,
		created - WindowS - 1: ErrFuture, created + WindowS + 1: ErrExpired,
	} {
		verifier := NewVerifier(key(t), 8)
		if _, err := verifier.Verify(example(), fields.Input, fields.Signature, nowS); err != want {
			t.Errorf("at %d s: %v, want %v", nowS-created, err, want)
		}
		if want != nil {
			continue
		}
		if _, err := verifier.Verify(example(), fields.Input, fields.Signature, nowS); err != ErrReplayed {
			t.Error("accepted twice:", err)
		}
	}
}

func TestWhateverIsChangedIsRefused(t *testing.T) {
	replace := func(from, to string) func(*Request, *Fields) {
		return func(_ *Request, f *Fields) { f.Input = strings.Replace(f.Input, from, to, 1) }
	}
	for name, test := range map[string]struct {
		change func(*Request, *Fields)
		want   error
	}{
		"method":     {func(r *Request, _ *Fields) { r.Method = "PUT" }, ErrForged},
		"authority":  {func(r *Request, _ *Fields) { r.Authority = "evil.test" }, ErrForged},
		"path":       {func(r *Request, _ *Fields) { r.Path = "/Echo" }, ErrForged},
		"query":      {func(r *Request, _ *Fields) { r.Query = "a" }, ErrForged},
		"digest":     {func(r *Request, _ *Fields) { r.Digest = ContentDigest(nil) }, ErrForged},
		"time":       {replace("884473", "884474"), ErrForged},
		"nonce":      {replace(`nonce="Bw`, `nonce="Aw`), ErrForged},
		"key":        {replace("phone-7", "phone-8"), ErrKey},
		"algorithm":  {replace("hmac-sha256", "none"), ErrInput},
		"no time":    {replace(";created=1618884473", ""), ErrInput},
		"label":      {replace("commute=", "other="), ErrInput},
		"fewer":      {replace(` "@path"`, ""), ErrCovered},
		"no digest":  {replace(` "content-digest"`, ""), ErrCovered},
		"as stream":  {func(r *Request, _ *Fields) { r.Digest = "" }, ErrCovered},
		"two":        {func(_ *Request, f *Fields) { f.Input += ", " + f.Input }, ErrInput},
		"too long":   {func(_ *Request, f *Fields) { f.Input = strings.Repeat(f.Input, 10) }, ErrInput},
		"signature":  {func(_ *Request, f *Fields) { f.Signature = "commute=:AAAA:" }, ErrSignature},
		"other code": {func(_ *Request, f *Fields) { f.Signature = strings.Replace(f.Signature, "4", "5", 1) }, ErrForged},
	} {
		request, fields := example(), key(t).Sign(example(), created, nonceOf(7))
		test.change(&request, &fields)
		verifier := NewVerifier(key(t), 8)
		if _, err := verifier.Verify(request, fields.Input, fields.Signature, created); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestNoncesAreBoundedAndForgottenOnlyAfterTheWindow(t *testing.T) {
	verifier := NewVerifier(key(t), 1)
	for _, test := range []struct {
		nonce byte
		atS   int64
		want  error
	}{{1, 0, nil}, {1, 2 * WindowS, ErrReplayed}, {2, 2 * WindowS, ErrTooMany}, {2, 2*WindowS + 1, nil}} {
		nowS := created + test.atS
		fields := key(t).Sign(example(), nowS, nonceOf(test.nonce))
		if _, err := verifier.Verify(example(), fields.Input, fields.Signature, nowS); err != test.want {
			t.Errorf("nonce %d after %d s: %v, want %v", test.nonce, test.atS, err, test.want)
		}
	}
}

func TestChunksAreAcceptedOnlyWholeAndInOrder(t *testing.T) {
	stream := example()
	stream.Digest = ""
	fields := key(t).Sign(stream, created, nonceOf(7))
	sender := key(t).Chunks(fields.Code)
	one, two := sender.Code([]byte("one"), false), sender.Code([]byte("two"), true)
	receiver := func() *Chunks {
		chunks, err := NewVerifier(key(t), 8).Verify(stream, fields.Input, fields.Signature, created)
		if err != nil {
			t.Fatal(err)
		}
		return chunks
	}
	whole := receiver()
	if whole.Verify([]byte("one"), false, one) != nil || whole.Verify([]byte("two"), true, two) != nil {
		t.Error("refused the chunks as they were sent")
	}
	if receiver().Verify([]byte("One"), false, one) == nil {
		t.Error("accepted a changed chunk")
	}
	if receiver().Verify([]byte("two"), true, two) == nil {
		t.Error("accepted the second chunk without the first")
	}
	if receiver().Verify([]byte("one"), true, one) == nil {
		t.Error("accepted the first chunk as the last")
	}
}

func nonceOf(octet byte) (nonce [NonceBytes]byte) {
	for i := range nonce {
		nonce[i] = octet
	}
	return nonce
}
