//! A real Chromium, driven by the Chrome DevTools Protocol over pipes.

mod recorder;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any page takes to load on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const HEIGHT: u32 = 900;

/// A browser with one page, which ends with its value.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    target: String,
    session: String,
    sent: u64,
    complaints: Vec<String>,
    profile: TempDir,
}

pub use recorder::Recorder;

/// How a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// On a screen of this width in CSS pixels, on light or dark.
    Screen {
        /// The width, CSS pixels.
        width: u32,
        /// Whether the reader prefers dark pages.
        dark: bool,
    },
    /// On paper of this width in CSS pixels, without its margins.
    Print {
        /// The width, CSS pixels.
        width: u32,
    },
}

impl Browser {
    /// Starts `COMMUTE_BROWSER`, or the first of the usual names on PATH; `None` if there is neither.
    pub fn start() -> Option<Self> {
        let profile = tempfile::tempdir().expect("a folder for the profile");
        Self::start_in(profile, &[])
    }

    /// Starts the browser with a home folder, which contains the profile, and further arguments.
    fn start_in(profile: TempDir, arguments: &[String]) -> Option<Self> {
        let program = program()?;
        // The protocol's pipes are the descriptors 3 and 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(arguments)
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let commands = process.stdin.take().expect("it is piped");
        let replies = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in replies.split(0) {
                let Ok(message) = message else { break };
                let message = serde_json::from_slice(&message).expect("the protocol is JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            target: String::new(),
            session: String::new(),
            sent: 0,
            complaints: Vec::new(),
            profile,
        };
        browser.new_page();
        Some(browser)
    }

    /// Opens an empty page, which all commands then go to.
    fn new_page(&mut self) {
        self.session.clear();
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        self.target = text(&target["targetId"]);
        let parameters = json!({"targetId": self.target, "flatten": true});
        let attached = self.call("Target.attachToTarget", &parameters);
        self.session = text(&attached["sessionId"]);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.open_url(&format!("file://{}", file.display()));
    }

    fn open_url(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
        loop {
            let message = self.next();
            if message["method"] == "Page.loadEventFired" && message["sessionId"] == self.session {
                break;
            }
        }
    }

    /// Shows the page in another view.
    pub fn show(&mut self, view: View) {
        let (width, media, scheme) = match view {
            View::Screen { width, dark: true } => (width, "screen", "dark"),
            View::Screen { width, dark: false } => (width, "screen", "light"),
            View::Print { width } => (width, "print", "light"),
        };
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 500}),
        );
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
    }

    /// Returns the value of a JavaScript expression; of a promise, what it resolves to.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let reply = self.call(
            "Runtime.evaluate",
            &json!({"expression": expression, "awaitPromise": true, "returnByValue": true}),
        );
        let exception = &reply["exceptionDetails"];
        assert!(exception.is_null(), "{exception}");
        reply["result"]["value"].clone()
    }

    /// Returns the problems of the page's layout in a view. They are content that is cut or reaches beyond the page,
    /// text below 10 px on a screen, and overlapping text in a figure.
    pub fn layout_problems(&mut self, view: View) -> Vec<String> {
        self.show(view);
        let problems = self.evaluate(include_str!("layout.js"));
        let problems = problems.as_array().expect("the script returns a list");
        problems
            .iter()
            .map(|problem| format!("{view:?}: {}", text(problem)))
            .collect()
    }

    /// Returns the rules of axe-core that the page breaks, with the first place of each; `None` if axe-core
    /// is not installed (`npm ci` in `crates/shared/testing/axe`).
    pub fn accessibility_problems(&mut self) -> Option<Vec<String>> {
        let axe = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/axe/node_modules/axe-core/axe.min.js"
        );
        let axe = std::fs::read_to_string(axe).ok()?;
        self.evaluate(&format!("{axe}; 0"));
        let broken = self.evaluate(
            "axe.run().then(found => found.violations.map(rule => \
             `${rule.id}: ${rule.nodes.length} × ${rule.help}: ${rule.nodes[0].html.slice(0, 300)}`))",
        );
        let broken = broken.as_array().expect("axe returns a list");
        Some(broken.iter().map(text).collect())
    }

    /// Returns a picture of the whole page as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let reply = self.call(
            "Page.captureScreenshot",
            &json!({"captureBeyondViewport": true}),
        );
        STANDARD.decode(text(&reply["data"])).expect("base64")
    }

    /// Returns the errors and warnings that the browser logged since it started.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": params});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        let sent = self.commands.write_all(format!("{command}\0").as_bytes());
        sent.expect("the browser runs");
        loop {
            let message = self.next();
            if message["id"] == json!(self.sent) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(TIMEOUT);
        let message = message.expect("the browser answers");
        match message["method"].as_str() {
            Some("Log.entryAdded") => {
                let entry = &message["params"]["entry"];
                self.complaints.push(text(&entry["text"]));
            }
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(message["params"].to_string());
            }
            _ => (),
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let ended = self.process.kill().and_then(|()| self.process.wait());
        ended.expect("the browser can be ended");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("COMMUTE_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file())
}
