package engine

import (
	"encoding/binary"
	"sync"
)

// maxUploadBytes bounds upload bodies, which are kept in memory.
const maxUploadBytes = 256 << 20

var seededFile struct {
	sync.Mutex
	bytes []byte
}

// SeededFile is the endless file that every upload and download is a prefix of: SplitMix64 from
// seed 0, little endian.
type SeededFile struct{}

// ReadAt reads the file's bytes from an offset on. It never fails.
func (SeededFile) ReadAt(part []byte, offset int64) (int, error) {
	var word [8]byte
	for at := 0; at < len(part); {
		position := uint64(offset) + uint64(at)
		binary.LittleEndian.PutUint64(word[:], splitMix64(position/8))
		at += copy(part[at:], word[position%8:])
	}
	return len(part), nil
}

// Seeded returns the first bytes of the seeded file. They are shared and must not be written to.
func Seeded(length uint64) ([]byte, error) {
	if length > maxUploadBytes {
		return nil, &Unsupported{"step put", "bodies are kept in memory, up to 256 MiB"}
	}
	seededFile.Lock()
	defer seededFile.Unlock()
	if uint64(len(seededFile.bytes)) < length {
		seededFile.bytes = make([]byte, length)
		SeededFile{}.ReadAt(seededFile.bytes, 0)
	}
	return seededFile.bytes[:length:length], nil
}

func splitMix64(i uint64) uint64 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
