use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::nss::trust;

/// Far longer than a recording takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(240);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// For automated use; the developer tools export a HAR when no request has been made for the timeout.
const PREFERENCES: [(&str, &str); 9] = [
    ("browser.shell.checkDefaultBrowser", "false"),
    ("browser.startup.homepage_override.mstone", "\"ignore\""),
    ("datareporting.policy.dataSubmissionEnabled", "false"),
    ("devtools.netmonitor.har.defaultFileName", "\"app\""),
    ("devtools.netmonitor.har.enableAutoExportToFile", "true"),
    ("devtools.netmonitor.har.forceExport", "true"),
    ("devtools.netmonitor.har.includeResponseBodies", "true"),
    ("devtools.netmonitor.har.pageLoadedTimeout", "8000"),
    ("devtools.toolbox.selectedTool", "\"netmonitor\""),
];

/// Opens a page in Firefox, which trusts a CA. Returns the first HAR that its developer tools export and that has a
/// request for this path. They may miss the first load of a page. Preferences are names and values in JavaScript.
/// `None` if there is no Firefox, or no `certutil`.
///
/// # Panics
///
/// When there is no such HAR after minutes.
pub fn record_in_firefox(
    ca: &Path,
    url: &str,
    preferences: &[(&str, String)],
    path: &str,
) -> Option<String> {
    let home = tempfile::tempdir().expect("a folder for the profile");
    let (profile, hars) = (home.path().join("profile"), home.path().join("hars"));
    trust(&profile, ca)?;
    std::fs::create_dir(&hars).expect("a folder for HARs");
    let folder = ("devtools.netmonitor.har.defaultLogDir", format!("{hars:?}"));
    let fixed = PREFERENCES.map(|(name, value)| (name, value.to_owned()));
    let mut text = String::new();
    for (name, value) in fixed.iter().chain([&folder]).chain(preferences) {
        writeln!(text, "user_pref(\"{name}\", {value});").expect("text can be written");
    }
    std::fs::write(profile.join("user.js"), text).expect("the preferences can be written");
    let mut firefox = ["firefox-esr", "firefox"].iter().find_map(|program| {
        Command::new(program)
            .args(["-headless", "-no-remote", "-profile"])
            .arg(&profile)
            .args(["-devtools", url])
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()
    })?;
    let start = Instant::now();
    let har = loop {
        if let Some(har) = with_request(&hars, path) {
            break Some(har);
        }
        if start.elapsed() > TIMEOUT {
            break None;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let ended = firefox.kill().and_then(|()| firefox.wait());
    ended.expect("Firefox can be ended");
    Some(har.expect("Firefox exports a HAR"))
}

/// Returns a whole HAR of the folder with a request for this path.
fn with_request(folder: &Path, path: &str) -> Option<String> {
    let files = std::fs::read_dir(folder).ok()?;
    files.filter_map(Result::ok).find_map(|file| {
        let text = std::fs::read_to_string(file.path()).ok()?;
        let har: Value = serde_json::from_str(&text).ok()?;
        let has = |entry: &Value| {
            let url = entry["request"]["url"].as_str();
            url.is_some_and(|url| url.ends_with(path))
        };
        har["log"]["entries"]
            .as_array()?
            .iter()
            .any(has)
            .then_some(text)
    })
}
