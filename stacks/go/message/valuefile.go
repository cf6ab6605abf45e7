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
		err = errors.New("trailing lines after the message")
	}
	if err != nil {
		return nil, fmt.Errorf("value file, line %d: %w", reader.line, err)
	}
	return plain, nil
}

// WriteValue returns the value file of a message, which is a pointer as returned by Kind.New. It
// fails on strings that are not UTF-8: Go's strings can hold any bytes, and some codecs do not
// check them.
func WriteValue(plain any) ([]byte, error) {
	return appendValue(nil, reflect.ValueOf(plain).Elem())
}

type valueReader struct {
	rest []byte
	line int
}

func (r *valueReader) read(target reflect.Value) error {
	switch target.Kind() {
	case reflect.Struct:
		return r.readMessage(target)
	case reflect.Slice:
		if target.Type().Elem().Kind() == reflect.Uint8 {
			return r.readBytes(target)
		}
		return r.readRepeated(target)
	case reflect.Pointer:
		return r.expect("z") // the one optional field is never set
	case reflect.Int32, reflect.Int64:
		text, err := r.leaf('i')
		if err != nil {
			return err
		}
		number, err := strconv.ParseInt(text, 10, target.Type().Bits())
		target.SetInt(number)
		return err
	case reflect.Uint64:
		text, err := r.leaf('i')
		if err != nil {
			return err
		}
		number, err := strconv.ParseUint(text, 10, 64)
		target.SetUint(number)
		return err
	case reflect.Float32:
		bits, err := r.bits('f', 32)
		// Not SetFloat, which converts through a double and so changes a signalling NaN.
		*target.Addr().Interface().(*float32) = math.Float32frombits(uint32(bits))
		return err
	case reflect.Float64:
		bits, err := r.bits('d', 64)
		target.SetFloat(math.Float64frombits(bits))
		return err
	case reflect.Bool:
		text, err := r.leaf('b')
		if err == nil && text != "0" && text != "1" {
			err = fmt.Errorf("%.40q is neither 0 nor 1", text)
		}
		target.SetBool(text == "1")
		return err
	case reflect.String:
		text, err := r.hex('s')
		if err == nil && !utf8.Valid(text) {
			err = errNotUTF8
		}
		target.SetString(string(text))
		return err
	}
	panic("unexpected field type " + target.Type().String())
}

func (r *valueReader) readMessage(target reflect.Value) error {
	if err := r.expect("{"); err != nil {
		return err
	}
	for _, field := range target.Fields() {
		if err := r.read(field); err != nil {
			return err
		}
	}
	return r.expect("}")
}

func (r *valueReader) readRepeated(target reflect.Value) error {
	text, err := r.leaf('[')
	if err != nil {
		return err
	}
	count, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return err
	}
	// Empty rather than nil, which codecs write as null. It grows only with actual elements.
	target.Set(reflect.MakeSlice(target.Type(), 0, 0))
	for range count {
		element := reflect.New(target.Type().Elem()).Elem()
		if err := r.read(element); err != nil {
			return err
		}
		target.Set(reflect.Append(target, element))
	}
	return nil
}

func (r *valueReader) readBytes(target reflect.Value) error {
	raw, err := r.hex('x')
	target.SetBytes(raw)
	return err
}

func (r *valueReader) next() ([]byte, error) {
	r.line++
	line, rest, terminated := bytes.Cut(r.rest, []byte{'\n'})
	if !terminated {
		return nil, errors.New("the file is truncated")
	}
	r.rest = rest
	return line, nil
}

func (r *valueReader) expect(want string) error {
	line, err := r.next()
	if err == nil && string(line) != want {
		err = fmt.Errorf("found %.40q, want %q", line, want)
	}
	return err
}

// leaf reads a line and returns what follows its letter and space.
func (r *valueReader) leaf(letter byte) (string, error) {
	line, err := r.next()
	if err == nil && (len(line) < 2 || line[0] != letter || line[1] != ' ') {
		err = fmt.Errorf("found %.40q, want \"%c ...\"", line, letter)
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

func appendValue(text []byte, value reflect.Value) ([]byte, error) {
	var err error
	switch value.Kind() {
	case reflect.Struct:
		text = append(text, "{\n"...)
		for _, field := range value.Fields() {
			if text, err = appendValue(text, field); err != nil {
				return nil, err
			}
		}
		text = append(text, "}\n"...)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Appendf(text, "x %x\n", value.Bytes()), nil
		}
		text = fmt.Appendf(text, "[ %d\n", value.Len())
		for i := range value.Len() {
			if text, err = appendValue(text, value.Index(i)); err != nil {
				return nil, err
			}
		}
	case reflect.Pointer:
		if !value.IsNil() {
			return appendValue(text, value.Elem())
		}
		text = append(text, "z\n"...)
	case reflect.Float32:
		text = fmt.Appendf(text, "f %08x\n", math.Float32bits(value.Interface().(float32)))
	case reflect.Float64:
		text = fmt.Appendf(text, "d %016x\n", math.Float64bits(value.Float()))
	case reflect.Bool:
		bit := 0
		if value.Bool() {
			bit = 1
		}
		text = fmt.Appendf(text, "b %d\n", bit)
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return nil, errNotUTF8
		}
		text = fmt.Appendf(text, "s %x\n", value.String())
	default:
		text = fmt.Appendf(text, "i %d\n", value.Interface())
	}
	return text, nil
}

var errNotUTF8 = errors.New("the string is not UTF-8")
