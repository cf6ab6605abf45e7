//! Writes the bodies of a workload's own requests for the driver, and the answers for the server.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use driver::protocol::{Coded, CodedMessage};
use messages::Answer;
use study::Coding;
use study::plan::{Content, SentRequest, Workload};

/// Writes the bodies of requests below `dir`, and returns the path of each by its name.
pub(crate) fn write_payloads(
    workload: &Workload,
    dir: &Path,
) -> io::Result<BTreeMap<String, String>> {
    let dir = dir.join("payloads");
    let paths = write(
        workload.own.iter().filter_map(|sent| sent.body.as_ref()),
        &dir,
    )?;
    let text = |(name, path): (&str, PathBuf)| (name.to_owned(), path.display().to_string());
    Ok(paths.into_iter().map(text).collect())
}

/// Writes the types of bodies that are encoded and decoded within requests below `dir`, and returns how each
/// is to be understood, by its name.
pub(crate) fn write_types(workload: &Workload, dir: &Path) -> io::Result<BTreeMap<String, Coded>> {
    let dir = dir.join("types");
    let mut coded = BTreeMap::new();
    for (content, coding) in workload.own.iter().flat_map(SentRequest::coded) {
        let message = match coding {
            Coding::DescribesItself => None,
            Coding::Message(message) => {
                fs::create_dir_all(&dir)?;
                let path = dir.join(&content.name);
                fs::write(&path, &message.descriptors)?;
                Some(CodedMessage {
                    descriptors_file: path.display().to_string(),
                    name: message.name.clone(),
                })
            }
        };
        coded.insert(content.name.clone(), Coded { message });
    }
    Ok(coded)
}

/// Writes the answers below `dir`, and returns the arguments that tell a server of them.
pub(crate) fn write_answers(workload: &Workload, dir: &Path) -> io::Result<Vec<String>> {
    if workload.own.iter().next().is_none() {
        return Ok(Vec::new());
    }
    let dir = dir.join("answers");
    fs::create_dir(&dir)?;
    write(
        workload
            .own
            .iter()
            .filter_map(|sent| sent.answer_body.as_ref()),
        &dir,
    )?;
    // Requests that differ in their body only have one answer.
    let by_request = |sent: &SentRequest| {
        let Answer { method, path, .. } = &sent.answer;
        ((method.clone(), path.clone()), sent.answer.clone())
    };
    let answers: BTreeMap<_, Answer> = workload.own.iter().map(by_request).collect();
    let answers: Vec<Answer> = answers.into_values().collect();
    let list = dir.join("answers.json");
    fs::write(&list, serde_json::to_vec(&answers)?)?;
    Ok(vec!["--answers".to_owned(), list.display().to_string()])
}

fn write<'a>(
    contents: impl Iterator<Item = &'a Arc<Content>>,
    dir: &Path,
) -> io::Result<BTreeMap<&'a str, PathBuf>> {
    let contents: BTreeMap<&str, &Content> = contents
        .map(|content| (content.name.as_str(), &**content))
        .collect();
    if !contents.is_empty() {
        fs::create_dir_all(dir)?;
    }
    let write = |(name, content): (&'a str, &Content)| {
        let path = dir.join(name);
        fs::write(&path, &content.bytes)?;
        Ok((name, path))
    };
    contents.into_iter().map(write).collect()
}
