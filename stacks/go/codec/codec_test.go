package codec

import (
	"bytes"
	"reflect"
	"testing"

	"commute/stacks/go/message"
)

var kindNames = []string{
	"Small", "AddressBook", "Newsfeed", "Large", "Diag", "Big", "PerlData", "ApiPage", "Echo",
}

// Every codec must return every kind of message unchanged, to the bit, and so must a value file.
func TestRoundTrip(t *testing.T) {
	forEach(t, func(t *testing.T, kind message.Kind, c Codec) {
		plain := filled(kind)
		encoded, err := c.Encode(c.Populate(plain))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // state kept between calls must not show
			own, err := c.Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			back := c.Convert(own)
			if !reflect.DeepEqual(back, plain) {
				t.Fatalf("encoded %+v, decoded %+v", plain, back)
			}
			throughFile(t, kind, back)
		}
	})
}

func TestDecodeRejectsATruncatedMessage(t *testing.T) {
	forEach(t, func(t *testing.T, kind message.Kind, c Codec) {
		encoded, err := c.Encode(c.Populate(filled(kind)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decode(encoded[:len(encoded)-1]); err == nil {
			t.Fatal("decoded it")
		}
	})
}

func TestDecompressionStopsAt64MiB(t *testing.T) {
	kind, _ := message.Find("Small")
	long := &message.Small{Name: string(bytes.Repeat([]byte{'a'}, maxDecompressed))}
	for _, offer := range Offers() {
		c := offer.New(kind)
		switch c.(type) {
		case *gzipCodec, *zstdCodec:
			encoded, err := c.Encode(c.Populate(long))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Decode(encoded); err == nil {
				t.Errorf("%s decoded it", offer.Codec)
			}
		}
	}
}

func forEach(t *testing.T, test func(*testing.T, message.Kind, Codec)) {
	for _, offer := range Offers() {
		for _, name := range kindNames {
			kind, found := message.Find(name)
			if !found {
				t.Fatal("unknown kind ", name)
			}
			if c := offer.New(kind); offer.Codec != "empty" {
				t.Run(offer.Codec+"/"+offer.Library+"/"+name, func(t *testing.T) { test(t, kind, c) })
			}
		}
	}
}

func throughFile(t *testing.T, kind message.Kind, plain any) {
	text, err := message.WriteValue(plain)
	if err != nil {
		t.Fatal(err)
	}
	read, err := message.ReadValue(kind, text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, plain) {
		t.Fatalf("wrote %+v, read %+v", plain, read)
	}
}

// filled returns a message with every field set except the one that is never set.
func filled(kind message.Kind) any {
	plain := kind.New()
	fill(reflect.ValueOf(plain).Elem())
	return plain
}

func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for _, field := range value.Fields() {
			fill(field)
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 3, 3))
		for i := range 3 {
			fill(value.Index(i))
		}
	case reflect.Uint8:
		value.SetUint(0xfe)
	case reflect.Uint64:
		value.SetUint(1<<64 - 1)
	case reflect.Int32:
		value.SetInt(-1 << 31)
	case reflect.Int64:
		value.SetInt(1<<53 + 1)
	case reflect.Float32, reflect.Float64:
		value.SetFloat(3.141565)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.String:
		value.SetString("hé <&> \"\\\u2028\U0001f600")
	}
}
