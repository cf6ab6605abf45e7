//! The one endless file that every download and upload is a prefix of.

use sha2::{Digest, Sha256};

/// Writes the file's bytes from `offset` on into `buf`.
///
/// The file is a keyless counter mode: 8-byte word `i` is the `i`-th output of SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), little
/// endian. Any range costs only its own length, and it passes for random to a compressor.
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

/// SHA-256 of the file's first `len` bytes, lower-case hex.
pub fn digest_of(len: u64) -> String {
    let mut sha = Sha256::new();
    let mut buf = vec![0; STRIDE];
    let mut offset = 0;
    while offset < len {
        let part = &mut buf[..(len - offset).min(STRIDE as u64) as usize];
        fill(offset, part);
        sha.update(&part);
        offset += part.len() as u64;
    }
    hex(&sha.finalize())
}

/// Lower-case hex, the form of every digest in this house.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

/// Output `index` of SplitMix64 seeded with 0.
pub(crate) fn split_mix(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn word(index: u64) -> [u8; WORD as usize] {
    split_mix(index).to_le_bytes()
}

const WORD: u64 = 8;
/// SplitMix64's increment: 2^64 over the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Digested at a time; any size gives the same digest.
const STRIDE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_splitmix64_from_seed_zero() {
        let mut buf = [0; 16];
        fill(0, &mut buf);
        // The generator's published first outputs for seed 0.
        assert_eq!(buf[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_eq!(buf[8..], 0x6e78_9e6a_a1b9_65f4_u64.to_le_bytes());
    }

    #[test]
    fn every_range_equals_the_same_range_of_the_whole() {
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
    fn a_digest_is_of_exactly_that_many_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest_of(0), empty);
        for len in [
            1,
            7,
            STRIDE as u64 - 1,
            STRIDE as u64,
            STRIDE as u64 + 1,
            163_763,
        ] {
            let mut whole = vec![0; len as usize];
            fill(0, &mut whole);
            assert_eq!(digest_of(len), hex(&Sha256::digest(&whole)), "{len}");
        }
    }

    #[test]
    fn no_byte_value_stands_out() {
        let mut buf = vec![0; 1 << 20];
        fill(12_345, &mut buf);
        let mut seen = [0u32; 256];
        buf.iter().for_each(|b| seen[usize::from(*b)] += 1);
        // 4096 expected of each, sigma 64: six sigma either way.
        assert!(seen.iter().all(|n| (3712..4480).contains(n)), "{seen:?}");
    }
}
