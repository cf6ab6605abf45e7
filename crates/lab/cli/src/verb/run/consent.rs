//! Consent to what a run sends to a server that the lab does not start.

use lab::ExternalServer;

use super::job::Job;
use crate::confirm::confirm;
use crate::exit;

/// The most requests to a server of the user's own that are sent without asking for consent.
const MAX_UNASKED_REQUESTS: u64 = 10_000;

/// Returns an error unless the user agrees to the requests of a run to a server. A study that a stranger wrote may name
/// any server: the user is asked. What the command line names, its user has chosen.
pub(super) fn ask(job: &Job, server: &ExternalServer, yes: bool) -> anyhow::Result<()> {
    let url = &server.url;
    if yes {
        return Ok(());
    }
    if job.names_server {
        let requests = job.plan.requests(job.shard);
        if requests > MAX_UNASKED_REQUESTS {
            return Err(exit::usage(format!(
                "this run would send {requests} requests to {url}, more than {MAX_UNASKED_REQUESTS}; add --yes \
                 if it is yours and may get them"
            )));
        }
        return Ok(());
    }
    let url = neutral::plain(&url.to_string());
    let place = match &server.address {
        Some(address) => format!("{url} at {}", neutral::plain(&address.to_string())),
        None => url,
    };
    let what = format!("{} to {place}, which the study names", job.requests());
    let files = files(job);
    let is_asked = confirm(
        &listed(&files),
        &format!("this run sends {what}. Continue?"),
    );
    match is_asked? {
        Some(true) => Ok(()),
        Some(false) => anyhow::bail!("nothing was sent"),
        None => {
            let with = match files.is_empty() {
                true => String::new(),
                false => format!(", with {}", files.join(", ")),
            };
            Err(exit::usage(format!(
                "this run would send {what}{with}; add --yes if the server may get them"
            )))
        }
    }
}

/// Returns the files whose content is sent, as the study names them, in quotes: a stranger chose the names.
fn files(job: &Job) -> Vec<String> {
    let files = job.plan.study.payload_files.keys();
    files.map(|file| neutral::quoted(file)).collect()
}

/// Returns a line per file, for above the question: whatever the names are, the question with the server is last.
fn listed(files: &[String]) -> Vec<String> {
    let heading = (!files.is_empty()).then(|| "this run sends the content of:".to_owned());
    let files = files.iter().map(|file| format!("  {file}"));
    heading.into_iter().chain(files).collect()
}
