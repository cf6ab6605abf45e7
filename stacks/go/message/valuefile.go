package message

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// ReadValue reads a value file (docs/codec-runner.md) into a message of this kind.
func ReadValue(kind Kind, text []byte) (any, error) {
	reader := valueReader{rest: text}
	plain := kind.New()
	err := reader.read(reflect.ValueOf(plain).Elem())
	if err == nil && len(reader.rest) > 0 {
		reader.line++
		err = errors.New("the message has ended; nothing may follow")
	}
	if err != nil {
		return nil, fmt.Errorf("value file, line %d: %w", reader.line, err)
	}
	return plain, nil
}

// WriteValue is the value file of a message, given as what Kind.New returns. Go's strings hold
// any bytes, and some codecs let any into them; a value file has UTF-8 only.
func WriteValue(plain any) ([]byte, error) {
	return appendValue(nil, reflect.ValueOf(plain).Elem())
}

type valueReader struct {
	rest []byte
	line int
}

func (r *valueReader) read(into reflect.Value) error {
	switch into.Kind() {
	case reflect.Struct:
		return r.readMessage(into)
	case reflect.Slice:
		if into.Type().Elem().Kind() == reflect.Uint8 {
			return r.readBytes(into)
		}
		return r.readRepeated(into)
	case reflect.Pointer:
		return r.exactly("z") // the one optional field is there never to be set
	case reflect.Int32, reflect.Int64:
		text, err := r.leaf('i')
		if err != nil {
			return err
		}
		number, err := strconv.ParseInt(text, 10, into.Type().Bits())
		into.SetInt(number)
		return err
	case reflect.Uint64:
		text, err := r.leaf('i')
		if err != nil {
			return err
		}
		number, err := strconv.ParseUint(text, 10, 64)
		into.SetUint(number)
		return err
	case reflect.Float32:
		bits, err := r.bits('f', 32)
		// Not SetFloat, which goes through a double and so changes a signalling NaN.
		*into.Addr().Interface().(*float32) = math.Float32frombits(uint32(bits))
		return err
	case reflect.Float64:
		bits, err := r.bits('d', 64)
		into.SetFloat(math.Float64frombits(bits))
		return err
	case reflect.Bool:
		text, err := r.leaf('b')
		if err == nil && text != "0" && text != "1" {
			err = fmt.Errorf("%.40q is neither 0 nor 1", text)
		}
		into.SetBool(text == "1")
		return err
	case reflect.String:
		text, err := r.hex('s')
		if err == nil && !utf8.Valid(text) {
			err = errNotUTF8
		}
		into.SetString(string(text))
		return err
	}
	panic("no message has a field of type " + into.Type().String())
}

func (r *valueReader) readMessage(into reflect.Value) error {
	if err := r.exactly("{"); err != nil {
		return err
	}
	for _, field := range into.Fields() {
		if err := r.read(field); err != nil {
			return err
		}
	}
	return r.exactly("}")
}

func (r *valueReader) readRepeated(into reflect.Value) error {
	text, err := r.leaf('[')
	if err != nil {
		return err
	}
	count, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return err
	}
	// Empty, not nil, which codecs write as null; and it grows with what is really there.
	into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	for range count {
		element := reflect.New(into.Type().Elem()).Elem()
		if err := r.read(element); err != nil {
			return err
		}
		into.Set(reflect.Append(into, element))
	}
	return nil
}

func (r *valueReader) readBytes(into reflect.Value) error {
	raw, err := r.hex('x')
	into.SetBytes(raw)
	return err
}

func (r *valueReader) next() ([]byte, error) {
	r.line++
	line, rest, whole := bytes.Cut(r.rest, []byte{'\n'})
	if !whole {
		return nil, errors.New("the file was cut short")
	}
	r.rest = rest
	return line, nil
}

func (r *valueReader) exactly(want string) error {
	line, err := r.next()
	if err == nil && string(line) != want {
		err = fmt.Errorf("%.40q where %q belongs", line, want)
	}
	return err
}

// leaf returns what follows the letter and a space on the next line.
func (r *valueReader) leaf(letter byte) (string, error) {
	line, err := r.next()
	if err == nil && (len(line) < 2 || line[0] != letter || line[1] != ' ') {
		err = fmt.Errorf("%.40q where \"%c ...\" belongs", line, letter)
	}
	if err != nil {
		return "", err
	}
	return string(line[2:]), nil
}

func (r *valueReader) bits(letter byte, size int) (uint64, error) {
	text, err := r.leaf(letter)
	if err == nil && len(text) != size/4 {
		err = fmt.Errorf("%.40q is not %d hex digits", text, size/4)
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 16, size)
}

func (r *valueReader) hex(letter byte) ([]byte, error) {
	text, err := r.leaf(letter)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

func appendValue(to []byte, value reflect.Value) ([]byte, error) {
	var err error
	switch value.Kind() {
	case reflect.Struct:
		to = append(to, "{\n"...)
		for _, field := range value.Fields() {
			if to, err = appendValue(to, field); err != nil {
				return nil, err
			}
		}
		to = append(to, "}\n"...)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Appendf(to, "x %x\n", value.Bytes()), nil
		}
		to = fmt.Appendf(to, "[ %d\n", value.Len())
		for i := range value.Len() {
			if to, err = appendValue(to, value.Index(i)); err != nil {
				return nil, err
			}
		}
	case reflect.Pointer:
		if !value.IsNil() {
			return appendValue(to, value.Elem())
		}
		to = append(to, "z\n"...)
	case reflect.Float32:
		to = fmt.Appendf(to, "f %08x\n", math.Float32bits(value.Interface().(float32)))
	case reflect.Float64:
		to = fmt.Appendf(to, "d %016x\n", math.Float64bits(value.Float()))
	case reflect.Bool:
		bit := 0
		if value.Bool() {
			bit = 1
		}
		to = fmt.Appendf(to, "b %d\n", bit)
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return nil, errNotUTF8
		}
		to = fmt.Appendf(to, "s %x\n", value.String())
	default:
		to = fmt.Appendf(to, "i %d\n", value.Interface())
	}
	return to, nil
}

var errNotUTF8 = errors.New("the string is not UTF-8")
