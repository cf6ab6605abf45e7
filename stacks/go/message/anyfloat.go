package message

import "github.com/tinylib/msgp/msgp"

// anyFloat is a float that MessagePack also reads from a double, which is all that languages
// without floats can write. By itself msgp would reject doubles.
type anyFloat float32

// MarshalMsg appends a float 32.
func (f anyFloat) MarshalMsg(b []byte) ([]byte, error) {
	return msgp.AppendFloat32(b, float32(f)), nil
}

// UnmarshalMsg reads a float 32 or a float 64 and returns the remaining bytes.
func (f *anyFloat) UnmarshalMsg(b []byte) ([]byte, error) {
	if msgp.NextType(b) == msgp.Float64Type {
		double, rest, err := msgp.ReadFloat64Bytes(b)
		*f = anyFloat(double)
		return rest, err
	}
	float, rest, err := msgp.ReadFloat32Bytes(b)
	*f = anyFloat(float)
	return rest, err
}

// Msgsize returns the size of a float 32.
func (anyFloat) Msgsize() int { return msgp.Float32Size }
