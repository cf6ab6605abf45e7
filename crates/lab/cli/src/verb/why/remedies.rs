//! The remedies that are known: those of the stacks, and those that no stack decides.

use anyhow::Context as _;
use lab::Lab;
use report::Remedy;

/// The file beside a stack's manifest.
const FILE: &str = "remedies.toml";

/// Returns all remedies; a stack without a file has none.
pub(super) fn known(lab: &Lab) -> anyhow::Result<Vec<Remedy>> {
    let mut remedies = Remedy::general();
    for folder in lab.stacks.folders() {
        let path = folder.path.join(FILE);
        if !path.is_file() {
            continue;
        }
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path).with_context(|| file.clone())?;
        let of_folder = lab.stacks.all().filter(|d| d.folder.path == folder.path);
        let drivers: Vec<&str> = of_folder.map(|d| d.entry.name.as_str()).collect();
        remedies.extend(Remedy::of_stack(&file, &text, &drivers)?);
    }
    Ok(remedies)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lab::Home;

    use super::*;

    #[test]
    fn the_files_of_all_stacks_are_valid() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let home = Home::named(&root, "commute".into()).unwrap();
        let remedies = known(&Lab::open(home).unwrap()).unwrap();
        let folders = std::fs::read_dir(root.join("stacks")).unwrap();
        let with_file = folders.flatten().filter(|f| f.path().join(FILE).is_file());
        assert!(with_file.count() >= 3);
        let for_driver = |name: &str| {
            let is_for = |remedy: &&Remedy| remedy.drivers.iter().any(|driver| driver == name);
            remedies.iter().filter(is_for).count()
        };
        assert_eq!(
            [
                for_driver("okhttp"),
                for_driver("grpc-okhttp"),
                for_driver("hyper")
            ],
            [1, 2, 1]
        );
    }
}
