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

// Seeded returns the first bytes of the file that every upload is a prefix of: SplitMix64
// from seed 0, little endian. The bytes are shared and must not be written to.
func Seeded(length uint64) ([]byte, error) {
	if length > maxUploadBytes {
		return nil, &Unsupported{"step put", "bodies are kept in memory, up to 256 MiB"}
	}
	seededFile.Lock()
	defer seededFile.Unlock()
	if uint64(len(seededFile.bytes)) < length {
		file := make([]byte, (length+7)/8*8)
		for at := 0; at < len(file); at += 8 {
			binary.LittleEndian.PutUint64(file[at:], splitMix64(uint64(at/8)))
		}
		seededFile.bytes = file
	}
	return seededFile.bytes[:length:length], nil
}

func splitMix64(i uint64) uint64 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
