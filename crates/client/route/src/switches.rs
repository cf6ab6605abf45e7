//! Feature switches: how an app turns the engine off, in part or for a share of its installations.

use sha2::{Digest, Sha256};

/// Features that an app allows. The memory file keeps the last ones given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Older switches do not replace newer ones.
    pub generation: u32,
    /// Whether the engine takes any request.
    pub engine: bool,
    /// HTTP/3 is used by this percentage of installations.
    pub h3_percent: u8,
    /// Whether requests may take another connection, and connections be opened, to learn.
    pub explore: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            generation: 0,
            engine: true,
            h3_percent: 100,
            explore: true,
        }
    }
}

/// Returns the installation's place in a roll-out, from 0 to 99. It is the same for as long as the
/// salt is kept, so raising a percentage adds installations and removes none.
pub(crate) fn bucket(salt: &[u8; 16], name: &str) -> u8 {
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update(name.as_bytes());
    let digest = hash.finalize();
    let number = digest
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    u8::try_from(number % 100).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_even_and_stay() {
        let mut counts = [0_u32; 100];
        for i in 0..20_000_u32 {
            let mut salt = [0; 16];
            salt[..4].copy_from_slice(&i.to_le_bytes());
            counts[usize::from(bucket(&salt, "h3"))] += 1;
        }
        // 200 each; 5 standard deviations are 71.
        assert!(counts.iter().all(|n| (129..=271).contains(n)), "{counts:?}");
        assert_eq!(bucket(&[1; 16], "h3"), bucket(&[1; 16], "h3"));
    }
}
