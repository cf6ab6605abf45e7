use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;

use config::Source;
use driver::manifest::OWN_SERVER;
use driver::protocol::Action;
use record::{Run, Store};
use sha2::{Digest, Sha256};
use study::plan::Plan;
use study::{Arm, ExternalServer, ReadFile, Study, Trust, not_for_step};

use crate::error::LabError;
use crate::files::{AllowedFiles, FileScope, Owner, read_file, read_trust};
use crate::home::Home;
use crate::network;
use crate::stacks::{Server, Stacks, StacksError};
use crate::toml_file;

/// Has links to what a process has open, e.g. to standard input.
const DEVICES: &str = "/dev";

/// A lab on this machine: its files and its stacks.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Where `stacks/`, `studies/` and the `commute` binary are.
    pub home: Home,
    /// Every driver and codec runner found there.
    pub stacks: Stacks,
}

impl Lab {
    /// Reads the manifests of all stacks.
    pub fn open(home: Home) -> Result<Lab, StacksError> {
        let stacks = Stacks::read(&home)?;
        Ok(Lab { home, stacks })
    }

    /// Reads and checks a study, applies the command line's `overrides`, and plans it. The study may read files below its
    /// own folder, and those that its user allows.
    pub fn plan(
        &self,
        file: &Path,
        allowed: &AllowedFiles,
        overrides: impl FnOnce(&mut Study),
    ) -> Result<Plan, LabError> {
        let (text, opened) = toml_file::read(file, toml_file::Kind::Study)?;
        // A link in a stranger's folder may lead to a file that is no study and not to be shown.
        if file.is_symlink()
            && !file.starts_with(DEVICES)
            && let Err(mistake) = Study::check_keys(&file.display().to_string(), &text)
        {
            let message = "not a study; this is a link: name the file itself to see what is wrong";
            return Err(mistake.without_text(message).into());
        }
        let scope = FileScope::of_file(Owner::Study, &opened, allowed);
        let read = |path: &str, limit: u64| scope.read(path, limit);
        self.plan_in(file, text, &scope, &read, overrides)
    }

    /// Plans a study like [`plan`](Lab::plan) whose text is not in `file` yet; `read` returns the content of the
    /// files that it names.
    pub fn plan_text(
        &self,
        file: &Path,
        text: String,
        read: &ReadFile<'_>,
        overrides: impl FnOnce(&mut Study),
    ) -> Result<Plan, LabError> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let none = AllowedFiles::default();
        let scope = FileScope::of_folder(Owner::Study, folder, &none);
        self.plan_in(file, text, &scope, read, overrides)
    }

    /// Plans a study whose payloads `read` returns, and whose other files are in the scope.
    fn plan_in(
        &self,
        file: &Path,
        text: String,
        scope: &FileScope<'_>,
        read: &ReadFile<'_>,
        overrides: impl FnOnce(&mut Study),
    ) -> Result<Plan, LabError> {
        let name = file.display().to_string();
        let base = file.parent().unwrap_or(Path::new(""));
        let mut study = Study::parse_with(&name, &text, read)?;
        let named = |name_of: &str, error: LabError| match error {
            // It has a place of its own.
            LabError::Network(link::NetworkError::File(_)) => error,
            error => {
                let source = Source::new(&name, &text);
                source
                    .error(&span_of(name_of, &text), error.to_string())
                    .into()
            }
        };
        overrides(&mut study);
        if let Some(server) = &mut study.external {
            let trust = read_trust(&server.trust, scope);
            server.trust = match &server.trust {
                Trust::OfStudy(path) => trust.map_err(|e| named(&path.to_string_lossy(), e))?,
                _ => trust?,
            };
            if let Some((group, reason)) = study.workload.iter().find_map(not_for_step) {
                let reason = format!("group `{group}`: {reason}");
                return Err(named(group, LabError::External(reason)));
            }
        } else if let Some(refused) = study.not_for_lab {
            return Err(refused.into());
        }
        for arm in &study.arms {
            let found = self.stacks.find(&arm.stack);
            found.map_err(|e| named(&arm.stack, e.into()))?;
            let found = self.server_of(&study, arm);
            let server = found.map_err(|e| named(&arm.server, e.into()))?;
            let unserved = server
                .filter(|server| !server.protocols.contains(&arm.protocol))
                .map(|_| {
                    let protocol = arm.protocol.name();
                    format!("the {} server does not serve {protocol}", arm.server)
                });
            if let Some(reason) = unserved.or_else(|| arm.not_with_its_server()) {
                let arm = arm.name.clone();
                return Err(LabError::Arm {
                    file: name,
                    arm,
                    reason,
                });
            }
        }
        let mut networks = Vec::new();
        for name_or_path in &study.networks {
            let network =
                network::of_study(name_or_path, base, scope).map_err(|e| named(name_or_path, e))?;
            let swept = study.sweep.apply(&network);
            networks.extend(swept.map_err(|e| named(name_or_path, e.into()))?);
        }
        if study.external.is_some() && study.arms.iter().all(|arm| !arm.origins.is_empty()) {
            return Err(LabError::External(format!(
                "{name}: [origins]: a server of your own is one origin; leave the table and the steps' `origin` \
                 out, or take the requests to that server alone (commute init --har FILE --server URL)"
            )));
        }
        // A network given as a path is known by its own name in cells and tables.
        study.networks = networks.iter().map(|n| n.link.name.clone()).collect();
        for arm in networks
            .iter()
            .flat_map(|n| study.arms.iter().map(|arm| n.arm(arm)))
        {
            let found = self.server_of(&study, &arm);
            found.map_err(|e| named(&arm.server, e.into()))?;
            if let Some(server) = &study.external
                && let Some(reason) = server.not_for_arm(&arm)
            {
                let (file, arm) = (name, arm.name);
                return Err(LabError::Arm { file, arm, reason });
            }
        }
        Ok(Plan::new(study, text, networks))
    }

    /// Returns what is doubtful in the plan, whatever is installed.
    pub fn warnings(&self, plan: &Plan) -> Vec<String> {
        let mut warnings = Vec::new();
        let refused: BTreeSet<&str> = (plan.workload.steps.iter())
            .filter(|step| match &step.action {
                Action::Call { body } | Action::Stream { body, .. } => {
                    messages::Echo::from_json(body.as_bytes()).is_err()
                }
                _ => false,
            })
            .filter_map(|step| plan.workload.group_name(step.id))
            .collect();
        for group in refused {
            warnings.push(format!(
                "group `{group}`: its body is not the echo message, so the server answers with \
                 status 400"
            ));
        }
        warnings.extend(plan.repeated_files());
        warnings
    }

    /// Plans a recorded run again, with `blocks` per network if it is to be extended; `store` is its
    /// folder.
    pub fn plan_of(&self, store: &Store, run: &Run, blocks: Option<u32>) -> Result<Plan, LabError> {
        let text = self.study_text(run)?;
        if text.is_empty() {
            return Err(LabError::Imported);
        }
        let blocks = blocks.unwrap_or(run.blocks);
        if blocks < run.blocks {
            return Err(LabError::FewerBlocks {
                planned: run.blocks,
                asked: blocks,
            });
        }
        let networks = (run.networks.iter())
            .map(network::from_record)
            .collect::<Result<Vec<_>, LabError>>()?;
        let read = |path: &str, limit: u64| read_payload(store, run, path, limit);
        let parsed = Study::parse_with("run.json: study_toml", &text, &read)?;
        let external = run.settings.external.as_ref();
        let mut study = Study {
            networks: networks.iter().map(|n| n.link.name.clone()).collect(),
            blocks,
            seed: run.seed,
            external: external
                .map(ExternalServer::of_record)
                .transpose()
                .map_err(LabError::Unreachable)?,
            ..parsed
        };
        for (arm, recorded) in study.arms.iter_mut().zip(&run.arms) {
            // The command line may have named another server than the study.
            arm.server = recorded
                .server
                .clone()
                .unwrap_or_else(|| OWN_SERVER.to_owned());
        }
        for arm in &study.arms {
            self.stacks.find(&arm.stack)?;
            self.server_of(&study, arm)?;
        }
        Ok(Plan::new(study, text, networks))
    }

    /// Returns the text of a run's study; reads it from its file if the record does not have it.
    fn study_text(&self, run: &Run) -> Result<String, LabError> {
        let settings = &run.settings;
        let Some(digest) = &settings.study_sha256 else {
            return Ok(settings.study_toml.clone());
        };
        let file = Path::new(&settings.study_file);
        // A study of the lab's own is recorded by its path there, or by its name.
        let of_lab = self.home.root.join(file);
        let by_name = self
            .home
            .root
            .join("studies")
            .join(file)
            .with_extension("toml");
        // No pipe, which would wait for its writer: a stranger may have written the record.
        let text =
            |file: &Path| String::from_utf8(read_file(file, toml_file::MAX_BYTES).ok()?).ok();
        let mut texts = [file, &of_lab, &by_name].into_iter().filter_map(text);
        let is_it = |text: &String| messages::hex(&Sha256::digest(text)) == *digest;
        texts.find(is_it).ok_or_else(|| {
            LabError::External(format!(
                "{}: this is not, or no more, the study of this run, which therefore cannot be continued: run.json has \
                 only the hash of a study for a server of your own, because that may hold credentials",
                file.display()
            ))
        })
    }

    /// Returns the server that a cell of the arm starts; none for commute's own, and where it starts none.
    fn server_of(&self, study: &Study, arm: &Arm) -> Result<Option<&Server>, StacksError> {
        match study.external {
            Some(_) => Ok(None),
            None => self.stacks.find_server(&arm.server),
        }
    }
}

/// Reads a file that a study names from its copy in the run's folder.
fn read_payload(store: &Store, run: &Run, path: &str, limit: u64) -> io::Result<Vec<u8>> {
    let of_run = run.settings.payloads.get(path);
    let digest = of_run.ok_or_else(|| io::Error::other("run.json does not list it"))?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    let content = match is_digest {
        true => read_file(&store.payload(digest), limit)?,
        false => Vec::new(),
    };
    match messages::hex(&Sha256::digest(&content)) == *digest {
        true => Ok(content),
        false => Err(io::Error::other("its copy in the run's folder was changed")),
    }
}

/// Returns where a study has this name in quotes, or an empty range if it does not.
fn span_of(name: &str, text: &str) -> Range<usize> {
    let quoted = [format!("\"{name}\""), format!("'{name}'")];
    let found = quoted
        .iter()
        .filter_map(|q| Some((text.find(q.as_str())?, q.len())));
    found.min().map_or(0..0, |(at, length)| at..at + length)
}
