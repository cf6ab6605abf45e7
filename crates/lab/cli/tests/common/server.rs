//! `commute serve` in the background.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Sandbox, User};

/// A running `commute serve`. Killed when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// The CA's certificate, readable by every user.
    pub ca: PathBuf,
}

impl Server {
    /// Runs `commute serve` after `prefix`, e.g. `ip netns exec NAME`, and waits until it listens.
    /// Port 0 of `address` means any port; `name` is the host name in the certificate.
    pub fn start(sandbox: &Sandbox, prefix: &[&str], address: &str, name: &str) -> Server {
        let commute = [env!("CARGO_BIN_EXE_commute"), "serve"];
        Server::start_program(sandbox, &[prefix, &commute].concat(), address, name)
    }

    /// Runs a program that takes the arguments of `commute serve`, as [`Server::start`] does.
    pub fn start_program(sandbox: &Sandbox, program: &[&str], address: &str, name: &str) -> Server {
        let credentials = sandbox.work().join("credentials");
        let options = [
            "--json",
            "--listen",
            address,
            "--name",
            name,
            "--credentials",
        ];
        let words = [program, &options[..]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&credentials);
        sandbox.configure(&mut command, User::Caller);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // With --json, a server prints one line once it listens.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|e| panic!("commute serve printed {line:?}: {e}"));
        let address = ready["listening"][0].as_str().unwrap().parse().unwrap();
        // Other users cannot read the server's folder, which also contains the client's key.
        let ca = sandbox.work().join("ca.pem");
        fs::copy(credentials.join("ca.pem"), &ca).unwrap();
        Server { child, address, ca }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
