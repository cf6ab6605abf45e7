//! Recordings by the browser's own developer tools.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::{Browser, TIMEOUT, program};
use crate::nss::trust;

/// A browser that records the requests of its page. Chromium's own developer tools, which are loaded in a second
/// tab, write the recording.
pub struct Recorder {
    browser: Browser,
    /// The session with the tab of the developer tools.
    devtools: String,
}

impl Recorder {
    /// Starts a browser that trusts a CA, with further arguments; `None` if there is no browser, or no `certutil`
    /// to make it trust.
    pub fn start(ca: &Path, arguments: &[String]) -> Option<Self> {
        program()?;
        let profile = tempfile::tempdir().expect("a folder for the profile");
        trust(&profile.path().join(".pki/nssdb"), ca)?;
        let mut all = vec![
            "--remote-debugging-port=0".to_owned(),
            "--remote-allow-origins=*".to_owned(),
            "--no-proxy-server".to_owned(),
        ];
        all.extend_from_slice(arguments);
        let mut browser = Browser::start_in(profile, &all)?;
        let address = browser.address();
        let page = (browser.target.clone(), browser.session.clone());
        browser.new_page();
        browser.open_url(&format!(
            "http://{address}/devtools/devtools_app.html?ws={address}/devtools/page/{}",
            page.0
        ));
        let devtools = std::mem::replace(&mut browser.session, page.1);
        let mut recorder = Self { browser, devtools };
        recorder.in_devtools(include_str!("record.js"));
        Some(recorder)
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        self.browser.open_url(url);
    }

    /// Returns the value of a JavaScript expression in the page; of a promise, what it resolves to.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.browser.evaluate(expression)
    }

    /// Returns the requests so far as "save all as HAR" writes them, once there are at least `requests` and all have
    /// ended.
    pub fn har(&mut self, requests: usize) -> String {
        let har = self.in_devtools(&format!("harOf({requests})"));
        har.as_str().expect("the HAR is text").to_owned()
    }

    fn in_devtools(&mut self, expression: &str) -> Value {
        std::mem::swap(&mut self.browser.session, &mut self.devtools);
        let value = self.browser.evaluate(expression);
        std::mem::swap(&mut self.browser.session, &mut self.devtools);
        value
    }
}

impl Browser {
    /// Returns where the browser serves its developer tools, which it writes to its profile.
    fn address(&self) -> String {
        let file = self.profile.path().join("DevToolsActivePort");
        let start = Instant::now();
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((port, _)) = text.split_once('\n') {
                return format!("127.0.0.1:{port}");
            }
            assert!(start.elapsed() < TIMEOUT, "no {}", file.display());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
