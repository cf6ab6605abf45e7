//! The command that repeats a run.

use record::{RunData, ServerOption};

/// Returns the command that plans the same cells with this seed; `None` for imported calls and where
/// the study's file is unknown.
pub(crate) fn command<C>(data: &RunData<C>, seed: u64) -> Option<String> {
    let run = data.run();
    let settings = &run.settings;
    // A path with a zero byte does not exist.
    let file = shlex::try_quote(&settings.study_file).ok()?;
    if settings.study_file.is_empty() {
        return None;
    }
    let mut command = format!("commute run {file} --blocks {} --seed {seed}", run.blocks);
    if let Some(ServerOption {
        server,
        address,
        ca,
    }) = &settings.server_option
    {
        let options = [
            ("server", Some(server)),
            ("server-address", address.as_ref()),
            ("ca", ca.as_ref()),
        ];
        for (option, value) in options {
            if let Some(value) = value {
                command += &format!(" --{option} {}", shlex::try_quote(value).ok()?);
            }
        }
    }
    if settings.jobs > 1 {
        command += &format!(" --jobs {}", settings.jobs);
    }
    // Several shards are repeated as one run.
    if settings.shards > 1 && data.headers().len() == 1 {
        command += &format!(" --shard {}/{}", settings.shard, settings.shards);
    }
    for (kept, option) in [
        (settings.pcap, " --pcap"),
        (settings.keylog, " --keylog"),
        (settings.qlog, " --qlog"),
        (settings.explain, " --explain"),
    ] {
        if kept {
            command += option;
        }
    }
    Some(command)
}

/// What to know of a command that repeats a run.
pub(crate) const SAME_LOSSES: &str =
    "The same seed gives the same losses: replicate with another --seed.";

/// Returns the command that replicates a run, i.e. with other losses.
pub(crate) fn replication<C>(data: &RunData<C>) -> Option<String> {
    command(data, data.run().seed.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use record::{Host, Run, Settings};

    use super::*;

    fn data(settings: Settings) -> RunData {
        let run = Run {
            format: record::FORMAT,
            commute: String::new(),
            study: "invented".into(),
            question: String::new(),
            seed: 7,
            blocks: 14,
            baseline: "a".into(),
            margin_ns: None,
            tail_percent: None,
            min_clean_percent: None,
            timeout_ns: 1,
            arms: vec![record::Arm {
                name: "a".into(),
                ..record::Arm::default()
            }],
            networks: Vec::new(),
            groups: Vec::new(),
            calls: Vec::new(),
            plan: Vec::new(),
            settings,
            host: Host::default(),
            self_test: Vec::new(),
            started_unix_ns: 0,
        };
        RunData::new(run, Vec::new()).unwrap()
    }

    fn command_of(settings: Settings) -> Option<String> {
        command(&data(settings), 7)
    }

    #[test]
    fn command_has_every_option_that_is_not_the_default() {
        let settings = Settings {
            study_file: "studies/quickstart.toml".into(),
            shard: 1,
            shards: 1,
            jobs: 1,
            ..Settings::default()
        };
        let plain = "commute run studies/quickstart.toml --blocks 14 --seed 7";
        assert_eq!(command_of(settings.clone()).as_deref(), Some(plain));
        let all = Settings {
            study_file: "my studies/it's.toml".into(),
            shard: 2,
            shards: 4,
            jobs: 2,
            pcap: true,
            keylog: true,
            qlog: true,
            explain: true,
            server_option: Some(ServerOption {
                server: "https://api.example.com".into(),
                address: Some("127.0.0.1:8443".into()),
                ca: Some("my ca.pem".into()),
            }),
            ..settings
        };
        assert_eq!(
            command_of(all).as_deref(),
            Some(
                "commute run \"my studies/it's.toml\" --blocks 14 --seed 7 \
                 --server https://api.example.com --server-address 127.0.0.1:8443 --ca 'my ca.pem' \
                 --jobs 2 --shard 2/4 --pcap --keylog --qlog --explain"
            )
        );
    }

    #[test]
    fn imported_calls_have_no_command() {
        assert_eq!(command_of(Settings::default()), None);
        assert_eq!(replication(&data(Settings::default())), None);
    }

    #[test]
    fn shards_together_are_repeated_as_one_run() {
        let shard = |shard| {
            data(Settings {
                study_file: "a.toml".into(),
                shard,
                shards: 2,
                ..Settings::default()
            })
        };
        let merged = record::merge(vec![shard(1), shard(2)]).unwrap();
        let expected = "commute run a.toml --blocks 14 --seed 7";
        assert_eq!(command(&merged, 7).as_deref(), Some(expected));
        let other = "commute run a.toml --blocks 14 --seed 8";
        assert_eq!(replication(&merged).as_deref(), Some(other));
    }
}
