package message

import "github.com/tinylib/msgp/msgp"

// anyFloat is a float in MessagePack: written as one, and read from a double too, which is all
// that languages without floats can write. msgp by itself would refuse that.
type anyFloat float32

// MarshalMsg appends a float 32.
func (f anyFloat) MarshalMsg(to []byte) ([]byte, error) {
	return msgp.AppendFloat32(to, float32(f)), nil
}

// UnmarshalMsg reads a float 32 or a float 64; returns what follows.
func (f *anyFloat) UnmarshalMsg(from []byte) ([]byte, error) {
	if msgp.NextType(from) == msgp.Float64Type {
		double, rest, err := msgp.ReadFloat64Bytes(from)
		*f = anyFloat(double)
		return rest, err
	}
	float, rest, err := msgp.ReadFloat32Bytes(from)
	*f = anyFloat(float)
	return rest, err
}

// Msgsize is what a float 32 takes.
func (anyFloat) Msgsize() int { return msgp.Float32Size }
