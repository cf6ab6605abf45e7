//! Runs all cells of the matrix, one after another.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::time::timeout;

use crate::RunOptions;
use crate::checks::{self, Check, Protocol, Target};
use crate::child::{Process, Start, free_port};
use crate::files;
use crate::foreign;
use crate::page;
use crate::results::{Cell, Found, Outcome, Results, Row};
use crate::servers::{Definition, Site, definitions};
use crate::tool;

const INSTALLS_WITHIN: Duration = Duration::from_secs(600);
const VERSION_WITHIN: Duration = Duration::from_secs(20);
/// The longest that one cell may take.
const CELL_LIMIT: Duration = Duration::from_secs(180);
/// Checks of the short run.
const SHORT: [Check; 6] = [
    Check::Get,
    Check::HeldUpload,
    Check::StreamedUpload,
    Check::Parallel100,
    Check::Range,
    Check::Restart,
];

/// Runs the cells that the options select, and writes results.
pub(crate) async fn run(options: &RunOptions) -> anyhow::Result<ExitCode> {
    let all = definitions()?;
    for name in &options.servers {
        let known = all.iter().any(|server| server.name == *name);
        ensure!(
            known,
            "no server is named \"{name}\"; interop/servers.toml has all"
        );
    }
    let folder = tempfile::Builder::new().prefix("interop-").tempdir()?;
    open_to_all(folder.path())?;
    files::write_files(&folder.path().join("files"))?;
    files::write_certificates(folder.path())?;
    fs::create_dir_all(&options.cache)?;
    let mut runner = Runner {
        options,
        site: Site {
            source: fs::canonicalize("interop")
                .context("find interop/ (run in the root of the tree)")?,
            cache: fs::canonicalize(&options.cache)?,
            folder: folder.path().to_owned(),
            upstream: free_port()?,
        },
        commute: fs::canonicalize(&options.commute).ok(),
        results: Results::default(),
    };
    let selected = all.iter().filter(|server| match &options.servers[..] {
        [] if options.short => server.short,
        [] => options.clients.is_empty(),
        names => names.contains(&server.name),
    });
    let selected: Vec<&Definition> = selected.collect();
    if !selected.is_empty() {
        let _upstream = runner.start_upstream().await?;
        for server in selected {
            runner.server(server).await?;
        }
    }
    if !options.short && (options.servers.is_empty() || !options.clients.is_empty()) {
        runner.clients().await?;
    }
    runner.finish()
}

struct Runner<'a> {
    options: &'a RunOptions,
    site: Site,
    commute: Option<PathBuf>,
    results: Results,
}

impl Runner<'_> {
    async fn start_upstream(&self) -> anyhow::Result<Process> {
        self.install(&["go".to_owned()])
            .await
            .context("the application behind proxies")?;
        let folder = self.site.folder.join("upstream");
        fs::create_dir_all(&folder)?;
        let app = self.site.cache.join("bin/app").display().to_string();
        let files = self.site.folder.join("files").display().to_string();
        let listen = format!("127.0.0.1:{}", self.site.upstream);
        let words = [&app, "-listen", &listen, "-files", &files];
        let start = Start {
            command: words.map(str::to_owned).to_vec(),
            folder,
            port: self.site.upstream,
            over_tcp: true,
        };
        start.start()
    }

    async fn install(&self, parts: &[String]) -> anyhow::Result<()> {
        let install = self.site.source.join("install").display().to_string();
        let mut command = vec![install, self.site.cache.display().to_string()];
        command.extend_from_slice(parts);
        let output = tool::run(&command, &self.site.source, INSTALLS_WITHIN).await?;
        ensure!(output.success, "{}", tool::last_line(&output.err));
        Ok(())
    }

    async fn server(&mut self, server: &Definition) -> anyhow::Result<()> {
        eprintln!("{}: installing", server.name);
        let version = match self.install(&server.install).await {
            Ok(()) => self.version(server).await,
            Err(error) => Err(error),
        };
        let version = version.map_err(|error| format!("{error:#}"));
        if let Err(reason) = &version {
            eprintln!("{}: skipped: {reason}", server.name);
        }
        let runs = version.is_ok();
        self.results.rows.push(Row {
            name: server.name.clone(),
            source: server.source.clone(),
            version,
        });
        if !runs {
            return Ok(());
        }
        let start = server.set_up(&self.site)?;
        let mut running = None;
        for &protocol in &server.protocols {
            let wanted = &self.options.protocols;
            if !wanted.is_empty() && !wanted.contains(&protocol) {
                continue;
            }
            for check in Check::ALL {
                if !self.is_wanted(check, protocol) {
                    continue;
                }
                let began = Instant::now();
                let outcome = self
                    .cell(server, protocol, check, &start, &mut running)
                    .await;
                self.record(server, protocol, check, outcome, began.elapsed())?;
            }
        }
        Ok(())
    }

    fn is_wanted(&self, check: Check, protocol: Protocol) -> bool {
        match &self.options.checks[..] {
            // A restart is noticed over QUIC only by the idle time-out of 30 s.
            [] if self.options.short => {
                SHORT.contains(&check) && (check, protocol) != (Check::Restart, Protocol::H3)
            }
            [] => true,
            some => some.contains(&check),
        }
    }

    /// Runs a cell on the running server, which is started first if there is none.
    async fn cell(
        &self,
        server: &Definition,
        protocol: Protocol,
        check: Check,
        start: &Start,
        running: &mut Option<Process>,
    ) -> Outcome {
        let reason = check.never_over(protocol);
        if let Some(reason) = reason.or_else(|| server.not_offered(protocol, check)) {
            return Outcome::NotOffered(reason.to_owned());
        }
        let server = match running.take().map_or_else(|| start.start(), Ok) {
            Ok(server) => server,
            Err(error) => return Outcome::Fail(format!("{error:#}")),
        };
        if check == Check::SlowLink {
            let outcome = self.slow_link(protocol, start.port).await;
            *running = Some(server);
            return outcome;
        }
        let mut target = Target {
            origin: format!("https://localhost:{}", start.port),
            ca: self.site.folder.join("ca.pem"),
            protocol,
            server: Some((start.clone(), server)),
        };
        let outcome = match timeout(CELL_LIMIT, checks::run(check, &mut target)).await {
            Ok(Ok(detail)) => Outcome::Pass(detail),
            Ok(Err(error)) => Outcome::Fail(format!("{error:#}")),
            Err(_) => Outcome::Fail(format!("no end within {} s", CELL_LIMIT.as_secs())),
        };
        // What failed may have left the server in disorder: the next cell gets a new one.
        if let (Outcome::Pass(_), Some((_, server))) = (&outcome, target.server) {
            *running = Some(server);
        }
        outcome
    }

    /// Runs a check of this program behind an emulated network, where the server is at the far end.
    async fn slow_link(&self, protocol: Protocol, port: u16) -> Outcome {
        let (Some(commute), Ok(own)) = (&self.commute, std::env::current_exe()) else {
            return Outcome::Skipped(format!("no {}", self.options.commute.display()));
        };
        let ca = self.site.folder.join("ca.pem").display().to_string();
        let words = [
            &commute.display().to_string(),
            "link",
            "webpagetest-3g",
            "--quiet",
            "--forward",
            &format!("{port}=127.0.0.1:{port}"),
            "--",
            &own.display().to_string(),
            "check",
            Check::SlowLink.name(),
            "--origin",
            &format!("https://far:{port}"),
            "--ca",
            &ca,
            "--protocol",
            protocol.name(),
        ];
        match tool::run(&words.map(str::to_owned), &self.site.folder, CELL_LIMIT).await {
            Ok(output) if output.success => Outcome::Pass(output.out.trim().to_owned()),
            Ok(output) => Outcome::Fail(tool::last_line(&output.err)),
            Err(error) => Outcome::Fail(format!("{error:#}")),
        }
    }

    fn record(
        &mut self,
        server: &Definition,
        protocol: Protocol,
        check: Check,
        outcome: Outcome,
        took: Duration,
    ) -> anyhow::Result<()> {
        let name = &server.name;
        let seconds = (took.as_secs_f64() * 10.0).round() / 10.0;
        let at = format!("{name} {protocol} {}", check.name());
        match &outcome {
            Outcome::Pass(_) => eprintln!("{at}: pass ({seconds} s)"),
            Outcome::NotOffered(reason) => eprintln!("{at}: not offered: {reason}"),
            Outcome::Skipped(reason) => eprintln!("{at}: skipped: {reason}"),
            Outcome::Fail(error) => {
                eprintln!("{at}: FAIL ({seconds} s): {error}");
                let check = check.name();
                eprintln!(
                    "  again: make interop SERVERS={name} PROTOCOLS={protocol} CHECKS={check}"
                );
            }
        }
        let cell = Cell {
            server: name.clone(),
            protocol,
            check: check.name(),
            outcome,
            seconds,
        };
        self.write_line(&serde_json::to_string(&cell)?)?;
        self.results.cells.push(cell);
        Ok(())
    }

    fn write_line(&self, line: &str) -> anyhow::Result<()> {
        if let Some(path) = &self.options.json {
            let file = fs::File::options().create(true).append(true).open(path);
            let mut file = file.with_context(|| format!("write {}", path.display()))?;
            writeln!(file, "{line}")?;
        }
        Ok(())
    }

    async fn version(&self, server: &Definition) -> anyhow::Result<String> {
        let command = server.version_command(&self.site);
        let output = tool::run(&command, &self.site.folder, VERSION_WITHIN).await?;
        Ok(page::short_version(
            &server.name,
            &format!("{}{}", output.out, output.err),
        ))
    }

    async fn clients(&mut self) -> anyhow::Result<()> {
        for client in foreign::CLIENTS {
            let name = client.name();
            if !self.options.clients.is_empty()
                && !self.options.clients.iter().any(|one| one == name)
            {
                continue;
            }
            eprintln!("{name} against commute serve: installing");
            let outcome = match (&self.commute, self.install(&client.install()).await) {
                (None, _) => Outcome::Skipped(format!("no {}", self.options.commute.display())),
                (_, Err(error)) => Outcome::Skipped(format!("{error:#}")),
                (Some(commute), Ok(())) => client.run(commute, &self.site).await,
            };
            match &outcome {
                Outcome::Fail(error) => {
                    eprintln!("{name}: FAIL: {error}\n  again: make interop CLIENTS={name}");
                }
                other => eprintln!("{name}: {other:?}"),
            }
            let found = Found {
                client: name,
                outcome,
            };
            self.write_line(&serde_json::to_string(&found)?)?;
            self.results.clients.push(found);
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<ExitCode> {
        let cells = self.results.cells.iter().map(|cell| &cell.outcome);
        let outcomes: Vec<_> = cells
            .chain(self.results.clients.iter().map(|found| &found.outcome))
            .collect();
        let count =
            |is: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
        let failed = count(|outcome| matches!(outcome, Outcome::Fail(_)));
        let skipped_servers = self
            .results
            .rows
            .iter()
            .filter(|row| row.version.is_err())
            .count();
        eprintln!(
            "{} passed, {failed} failed, {} not offered, {} skipped; {skipped_servers} servers skipped",
            count(|outcome| matches!(outcome, Outcome::Pass(_))),
            count(|outcome| matches!(outcome, Outcome::NotOffered(_))),
            count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        );
        if let Some(path) = &self.options.page {
            let text = page::render(&self.results);
            fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Lets servers that run as another user read the folder.
fn open_to_all(folder: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
