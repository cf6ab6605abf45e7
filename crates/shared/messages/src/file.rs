//! The one endless file that every download and upload is a prefix of.

use sha2::{Digest, Sha256};

use crate::random::split_mix_64;

/// Bytes of a SplitMix64 output.
const WORD: u64 = 8;
/// How many bytes are generated and digested at a time.
const CHUNK: usize = 64 * 1024;

/// Fills `buf` with the file's bytes from `offset` on.
///
/// The file is a keyless counter mode: its 8-byte word `i` is output `i` of SplitMix64 seeded with
/// 0, little endian. So any range costs only its own length, and a compressor finds nothing.
pub fn fill(offset: u64, buf: &mut [u8]) {
    let (head, rest) = buf.split_at_mut(buf.len().min((offset.wrapping_neg() % WORD) as usize));
    let mut index = offset / WORD;
    if !head.is_empty() {
        let from = (offset % WORD) as usize;
        head.copy_from_slice(&word(index)[from..from + head.len()]);
        index += 1;
    }
    let mut words = rest.chunks_exact_mut(WORD as usize);
    for chunk in &mut words {
        chunk.copy_from_slice(&word(index));
        index = index.wrapping_add(1);
    }
    let tail = words.into_remainder();
    tail.copy_from_slice(&word(index)[..tail.len()]);
}

/// Returns the SHA-256 of the file's first `len` bytes in lower-case hex.
pub fn digest_of(len: u64) -> String {
    let mut sha = Sha256::new();
    let mut buf = vec![0; CHUNK];
    let mut offset = 0;
    while offset < len {
        let part = &mut buf[..(len - offset).min(CHUNK as u64) as usize];
        fill(offset, part);
        sha.update(&part);
        offset += part.len() as u64;
    }
    hex(&sha.finalize())
}

/// Formats bytes as lower-case hex, the digest format used throughout commute.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

fn word(index: u64) -> [u8; WORD as usize] {
    split_mix_64(index).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_splitmix64_of_seed_zero() {
        let mut buf = [0; 16];
        fill(0, &mut buf);
        // The generator's published first outputs for seed 0.
        assert_eq!(buf[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_eq!(buf[8..], 0x6e78_9e6a_a1b9_65f4_u64.to_le_bytes());
    }

    #[test]
    fn every_range_equals_that_of_the_whole_file() {
        let mut whole = [0; 64];
        fill(0, &mut whole);
        for start in 0..40 {
            for len in 0..=(64 - start) {
                let mut part = vec![0; len];
                fill(start as u64, &mut part);
                assert_eq!(part, whole[start..start + len], "{start}+{len}");
            }
        }
        let mut far = [0; 24];
        fill(u64::MAX - 30, &mut far);
        let mut again = [0; 9];
        fill(u64::MAX - 25, &mut again);
        assert_eq!(far[5..14], again);
    }

    #[test]
    fn digest_covers_exactly_that_many_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest_of(0), empty);
        for len in [
            1,
            7,
            CHUNK as u64 - 1,
            CHUNK as u64,
            CHUNK as u64 + 1,
            163_763,
        ] {
            let mut whole = vec![0; len as usize];
            fill(0, &mut whole);
            assert_eq!(digest_of(len), hex(&Sha256::digest(&whole)), "{len}");
        }
    }

    #[test]
    fn byte_values_are_uniform() {
        let mut buf = vec![0; 1 << 20];
        fill(12_345, &mut buf);
        let mut seen = [0u32; 256];
        buf.iter().for_each(|b| seen[usize::from(*b)] += 1);
        // 4096 expected of each, sigma 64: six sigma either way.
        assert!(seen.iter().all(|n| (3712..4480).contains(n)), "{seen:?}");
    }
}
