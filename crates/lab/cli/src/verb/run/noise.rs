//! Remarks on noisy cells in the progress of a run.

/// How many noisy cells are explained where every one is.
const EXPLAINED: u32 = 3;

/// The cells that were measured so far.
#[derive(Debug, Default)]
pub(super) struct Noise {
    noisy: u32,
    clean: u32,
}

impl Noise {
    /// Counts a clean cell.
    pub(super) fn add_clean(&mut self) {
        self.clean += 1;
    }

    /// Counts a noisy cell. Returns the remark on it; none where every cell is noisy and that was said.
    pub(super) fn explain(&mut self, reasons: &[String]) -> Option<String> {
        self.noisy += 1;
        let reasons = reasons.join("; ");
        if self.clean > 0 || self.noisy < EXPLAINED {
            return Some(format!("noisy: {reasons}"));
        }
        (self.noisy == EXPLAINED).then(|| {
            format!(
                "noisy: {reasons}. Every cell so far was: close what else runs here, or use a quieter machine. Others are \
                 not listed until one is clean; -v lists all"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_always_busy_is_explained_once() {
        let mut noise = Noise::default();
        let busy = ["other programs took 95 % of the CPU".to_owned()];
        let mut said: Vec<Option<String>> = (0..10).map(|_| noise.explain(&busy)).collect();
        let third = said.remove(2).unwrap_or_default();
        assert!(
            third.contains("95 % of the CPU. Every cell so far"),
            "{third}"
        );
        assert_eq!(said.iter().flatten().count(), 2, "{said:?}");
        noise.add_clean();
        assert!(noise.explain(&busy).is_some());
    }
}
