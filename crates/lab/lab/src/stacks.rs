//! The stacks under `stacks/`: their drivers, codec runners and servers, and whether each is
//! installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use config::ConfigError;
use driver::manifest::{Certificate, ChannelKind, DriverEntry, Manifest, OWN_SERVER, Stack};
use driver::protocol::Protocol;

use crate::home::Home;

/// Every driver, codec runner and server found under `stacks/`, by name.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    folders: Vec<Folder>,
    drivers: BTreeMap<String, Driver>,
    runners: BTreeMap<String, Runner>,
    servers: BTreeMap<String, Server>,
}

/// One folder under `stacks/`, and how to prepare it.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder that contains `stack.toml`.
    pub path: PathBuf,
    /// The `[stack]` table of the manifest.
    pub stack: Stack,
}

/// A codec runner.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The name of its runtime, e.g. `jvm`.
    pub runtime: String,
    /// Program and arguments, with paths filled in.
    pub command: Vec<String>,
    /// The stack that it belongs to.
    pub folder: Folder,
}

/// A server besides commute's own.
#[derive(Clone, Debug)]
pub struct Server {
    /// Program and arguments, with paths filled in.
    pub command: Vec<String>,
    /// Protocols it serves.
    pub protocols: Vec<Protocol>,
    /// The stack that it belongs to.
    pub folder: Folder,
}

/// A driver.
#[derive(Clone, Debug)]
pub struct Driver {
    /// Its `[[driver]]` table of the manifest.
    pub entry: DriverEntry,
    /// Program and arguments, with paths filled in.
    pub command: Vec<String>,
    /// The stack that it belongs to.
    pub folder: Folder,
}

/// The stacks could not be read, or one does not exist.
#[derive(Debug, thiserror::Error)]
pub enum StacksError {
    /// A manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] ConfigError),
    /// A folder or file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// No driver has this name.
    #[error("no stack is named `{name}`{hint}; known: {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// "; did you mean ...?" with the nearest name, or empty.
        hint: String,
        /// All known names, separated by commas.
        known: String,
    },
    /// No server has this name.
    #[error("no server is named `{name}`{hint}; known: {known}")]
    UnknownServer {
        /// The name that was given.
        name: String,
        /// "; did you mean ...?" with the nearest name, or empty.
        hint: String,
        /// All known names, separated by commas.
        known: String,
    },
}

impl Stacks {
    /// Reads every `stacks/*/stack.toml`.
    pub fn read(home: &Home) -> Result<Stacks, StacksError> {
        let dir = home.root.join("stacks");
        let fail = |path: &Path, source| StacksError::Read {
            path: path.to_owned(),
            source,
        };
        let mut folders: Vec<PathBuf> = fs::read_dir(&dir)
            .map_err(|e| fail(&dir, e))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|p| p.join("stack.toml").is_file())
            .collect();
        folders.sort();
        let mut stacks = Stacks::default();
        for folder in folders {
            let file = folder.join("stack.toml");
            let text = fs::read_to_string(&file).map_err(|e| fail(&file, e))?;
            let manifest = Manifest::parse(&file.display().to_string(), &text)?;
            let folder = Folder {
                path: folder,
                stack: manifest.stack,
            };
            for entry in manifest.driver {
                let driver = Driver {
                    command: entry.argv(&folder.path, &home.commute),
                    folder: folder.clone(),
                    entry,
                };
                stacks.drivers.insert(driver.entry.name.clone(), driver);
            }
            for runner in manifest.runner {
                let runner = Runner {
                    command: runner.argv(&folder.path, &home.commute),
                    folder: folder.clone(),
                    runtime: runner.runtime,
                };
                stacks.runners.insert(runner.runtime.clone(), runner);
            }
            for server in manifest.server {
                let found = Server {
                    command: server.argv(&folder.path, &home.commute),
                    protocols: server.protocols,
                    folder: folder.clone(),
                };
                stacks.servers.insert(server.name, found);
            }
            stacks.folders.push(folder);
        }
        Ok(stacks)
    }

    /// Returns all drivers, by name.
    pub fn all(&self) -> impl Iterator<Item = &Driver> {
        self.drivers.values()
    }

    /// Returns all codec runners, by runtime.
    pub fn runners(&self) -> impl Iterator<Item = &Runner> {
        self.runners.values()
    }

    /// Returns all servers besides commute's own, by name.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.values()
    }

    /// Returns all folders, by name.
    pub fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.folders.iter()
    }

    /// Returns the drivers of one folder.
    pub fn in_folder(&self, name: &str) -> impl Iterator<Item = &Driver> {
        self.all()
            .filter(move |driver| driver.folder.name() == name)
    }

    /// Returns the driver of this name.
    pub fn find(&self, name: &str) -> Result<&Driver, StacksError> {
        self.drivers.get(name).ok_or_else(|| StacksError::Unknown {
            name: name.to_owned(),
            hint: config::did_you_mean(name, self.drivers.keys().map(String::as_str)),
            known: self.drivers.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns the server of this name; none for commute's own.
    pub fn find_server(&self, name: &str) -> Result<Option<&Server>, StacksError> {
        if name == OWN_SERVER {
            return Ok(None);
        }
        let names = || std::iter::once(OWN_SERVER).chain(self.servers.keys().map(String::as_str));
        let found = self.servers.get(name).map(Some);
        found.ok_or_else(|| StacksError::UnknownServer {
            name: name.to_owned(),
            hint: config::did_you_mean(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }
}

impl Driver {
    /// Returns a driver that belongs to no stack.
    pub fn at(path: &Path) -> std::io::Result<Driver> {
        let path = path.canonicalize()?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let command = vec![path.display().to_string()];
        Ok(Driver {
            entry: DriverEntry {
                name: study::slug(&name),
                command: command.clone(),
                protocols: Vec::new(),
                channel: ChannelKind::default(),
                certificate: Certificate::default(),
                caveats: BTreeMap::new(),
                limits: BTreeMap::new(),
            },
            command,
            folder: Folder {
                path: path.parent().unwrap_or(Path::new("/")).to_owned(),
                stack: Stack {
                    needs: "a program that can be executed".to_owned(),
                    install: None,
                    debian: Vec::new(),
                },
            },
        })
    }

    /// Returns why it cannot be run and how to install it, or `None` if it can be run.
    pub fn missing(&self) -> Option<String> {
        self.folder.missing(&self.command)
    }

    /// Returns the kind of all keys for an arm, which asks for one or leaves it to the stack. Fails with the reason if
    /// the stack does not accept it.
    pub(crate) fn key(&self, asked: Option<Certificate>) -> Result<Certificate, String> {
        let own = self.entry.certificate;
        match asked {
            // A manifest names RSA only where the library knows nothing else.
            Some(Certificate::P256) if own == Certificate::Rsa2048 => Err(format!(
                "key {}: {} accepts {} only",
                Certificate::P256.name(),
                self.entry.name,
                own.name()
            )),
            asked => Ok(asked.unwrap_or(own)),
        }
    }
}

impl Runner {
    /// Returns why it cannot be run and how to install it, or `None` if it can be run.
    pub fn missing(&self) -> Option<String> {
        self.folder.missing(&self.command)
    }
}

impl Server {
    /// Returns why it cannot be run and how to install it, or `None` if it can be run.
    pub fn missing(&self) -> Option<String> {
        self.folder.missing(&self.command)
    }
}

impl Folder {
    /// Returns the folder's name, which `commute stacks install` takes.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns what to do where a part of the stack is missing: the command that installs it, or what it needs.
    pub(crate) fn remedy(&self) -> String {
        let needs = &self.stack.needs;
        match self.stack.install {
            Some(_) => format!(
                "run: commute stacks install {} (needs {needs})",
                self.name()
            ),
            None => format!("needs: {needs}"),
        }
    }

    fn missing(&self, command: &[String]) -> Option<String> {
        let absent = command
            .iter()
            .map(Path::new)
            .find(|part| part.is_absolute() && !part.exists())?;
        let missing = self.first_missing(absent);
        Some(format!(
            "not installed ({} is missing); {}",
            missing.display(),
            self.remedy()
        ))
    }

    /// Returns the outermost file or folder on the way to `absent` that does not exist, from `stacks/` on. If `absent`
    /// is not in this folder it is returned itself.
    fn first_missing(&self, absent: &Path) -> PathBuf {
        let Ok(inside) = absent.strip_prefix(&self.path) else {
            return absent.to_owned();
        };
        let mut path = self.path.clone();
        for part in inside {
            path.push(part);
            if !path.exists() {
                break;
            }
        }
        let inside = path.strip_prefix(&self.path).unwrap_or(inside);
        Path::new("stacks").join(self.name()).join(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: PathBuf, install: Option<&str>) -> Folder {
        Folder {
            path,
            stack: Stack {
                needs: "Python 3".into(),
                install: install.map(Into::into),
                debian: Vec::new(),
            },
        }
    }

    fn command(program: &Path) -> Vec<String> {
        vec![program.display().to_string(), "--flag".into()]
    }

    #[test]
    fn the_outermost_missing_part_is_named_with_the_install_command() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("stacks/curl");
        let program = path.join(".venv/bin/python3");
        let folder = folder(path, Some("install"));
        let missing = || folder.missing(&command(&program));

        let not_installed = "not installed (stacks/curl/.venv is missing); \
            run: commute stacks install curl (needs Python 3)";
        fs::create_dir_all(&folder.path).unwrap();
        assert_eq!(missing().as_deref(), Some(not_installed));

        let half = not_installed.replace(".venv", ".venv/bin/python3");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        assert_eq!(missing(), Some(half));

        fs::write(&program, "").unwrap();
        assert_eq!(missing(), None);
    }

    #[test]
    fn arms_may_ask_for_any_key_that_the_stack_accepts() {
        use Certificate::{P256, Rsa2048};
        let program = std::env::current_exe().unwrap();
        let mut driver = Driver::at(&program).unwrap();
        assert_eq!(driver.key(None), Ok(P256));
        assert_eq!(driver.key(Some(Rsa2048)), Ok(Rsa2048));
        driver.entry.certificate = Rsa2048;
        assert_eq!(driver.key(None), Ok(Rsa2048));
        let refusal = driver.key(Some(P256)).unwrap_err();
        assert!(refusal.ends_with("accepts rsa-2048 only"), "{refusal}");
    }

    #[test]
    fn programs_outside_the_folder_are_named_by_their_path() {
        let folder = folder("/nowhere/stacks/rust".into(), None);
        assert_eq!(
            folder
                .missing(&command(Path::new("/nowhere/bin/driver")))
                .unwrap(),
            "not installed (/nowhere/bin/driver is missing); needs: Python 3"
        );
        assert_eq!(folder.missing(&command(Path::new("found-in-path"))), None);
    }
}
