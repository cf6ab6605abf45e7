//! The confinement of codec runners, which run without a bench.

use driver::process::{Process, Started};
use pump::Confinement;

use crate::bench::{self, CONFINEMENT};
use crate::cell::STARTUP_LIMIT;
use crate::lab::Lab;
use crate::visible;

/// Returns what a codec runner may be and use when the lab runs with the caller's rights.
pub fn runner_confinement() -> Confinement {
    bench::confinement(CONFINEMENT.user.filter(|_| pump::can_administer()))
}

impl Lab {
    /// Reports whether codec runners can be confined here. The error says why not.
    pub fn check_confinement(&self) -> Result<(), String> {
        let version = [
            self.home.commute.display().to_string(),
            "--version".to_owned(),
        ];
        let words = self.confined(&version, &self.home.root.display().to_string());
        let Started { mut process, .. } = Process::start(&words).map_err(|e| e.to_string())?;
        match process.close(STARTUP_LIMIT) {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(process.log_tail().trim().to_owned()),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Returns the command that runs a codec runner confined. The runner may write to `folder` besides its home.
    pub fn confined(&self, command: &[String], folder: &str) -> Vec<String> {
        let mut words = vec![
            self.home.commute.display().to_string(),
            "confined".to_owned(),
            "--writable".to_owned(),
            folder.to_owned(),
        ];
        let shown = visible::to_all(self).into_iter();
        for path in shown.chain(visible::to_command(command)) {
            words.extend(["--visible".to_owned(), path.display().to_string()]);
        }
        words.push("--".to_owned());
        words.extend_from_slice(command);
        words
    }
}
