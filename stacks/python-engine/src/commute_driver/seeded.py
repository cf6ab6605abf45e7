"""The bytes that uploads send and downloads receive."""

import functools


@functools.lru_cache(maxsize=2)
def seeded(length):
    """Returns the first bytes of the seeded file: SplitMix64 from seed 0, little endian."""
    mask, state, words = (1 << 64) - 1, 0, bytearray()
    for _ in range((length + 7) // 8):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        words += (z ^ (z >> 31)).to_bytes(8, "little")
    return bytes(words[:length])
