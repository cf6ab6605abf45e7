use std::path::Path;
use std::process::Command;

/// Creates a database of NSS, by which browsers know certificates, that trusts a CA; `None` if there is no
/// `certutil`.
pub(crate) fn trust(database: &Path, ca: &Path) -> Option<()> {
    std::fs::create_dir_all(database).expect("a folder for the database");
    let database = format!("sql:{}", database.display());
    let ca = ca.display().to_string();
    let steps: [&[&str]; 2] = [
        &["-N", "--empty-password"],
        &["-A", "-n", "ca", "-t", "C,,", "-i", &ca],
    ];
    for step in steps {
        let mut certutil = Command::new("certutil");
        let status = certutil.args(["-d", &database]).args(step).status().ok()?;
        assert!(status.success(), "certutil {step:?}: {status}");
    }
    Some(())
}
