//! Every mistake is reported with its line and a message.

mod mistakes;

use driver::manifest::Certificate;
use driver::protocol::Policy;

use crate::plan::small_plan::SMALL;
use crate::{Access, Arm, AuthScheme, Behaviour, Connections, Security, ServerFault, Step, Study};

fn refusal(text: &str) -> String {
    Study::parse("s.toml", text).unwrap_err().to_string()
}

/// Returns SMALL with one line replaced, and the number of that line.
fn with(line: &str, instead: &str) -> (String, usize) {
    assert!(SMALL.contains(line), "{line}");
    let at = 1 + SMALL[..SMALL.find(line).unwrap()].matches('\n').count();
    (SMALL.replacen(line, instead, 1), at)
}

#[test]
fn parses_a_study() {
    let study = Study::parse("s.toml", SMALL).unwrap();
    assert_eq!((study.arms.len(), study.baseline, study.blocks), (3, 0, 3));
    assert_eq!(study.arms[2].name, "quinn h3");
    assert_eq!(study.timeout_ns, 30_000_000_000);
}

#[test]
fn arms_choose_the_length_of_the_chain() {
    let (text, _) = with("stack = \"quinn\"", "stack = \"quinn\"\nchain = \"long\"");
    let study = Study::parse("s.toml", &text).unwrap();
    assert_eq!(study.arms[2].chain.name(), "long");
    assert_eq!(study.arms[0].chain.name(), "typical");
}

#[test]
fn only_commutes_server_has_a_fault() {
    let (text, _) = with(
        "stack = \"quinn\"",
        "stack = \"quinn\"\nfault = \"quic-stall\"",
    );
    let study = Study::parse("s.toml", &text).unwrap();
    assert_eq!(study.arms[2].fault, Some(ServerFault::QuicStall));
    let elsewhere = text.replace("blocks = 3", "blocks = 3\nserver = \"go\"");
    let refused = refusal(&elsewhere);
    let expected = "arm `quinn h3`: only commute's own server has a `fault`, not go";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn arms_have_a_role_and_the_baseline_is_a_candidate() {
    let (text, _) = with(
        "protocol = \"h3\"",
        "protocol = \"h3\"\nrole = \"anti-pattern\"",
    );
    let study = Study::parse("s.toml", &text).unwrap();
    let roles = study.arms.iter().map(|arm| arm.role.name());
    assert_eq!(
        roles.collect::<Vec<_>>(),
        ["candidate", "candidate", "anti-pattern"]
    );
    let control = SMALL.replacen(
        "protocol = \"h2\"",
        "protocol = \"h2\"\nrole = \"control\"",
        1,
    );
    let refused = refusal(&control);
    assert!(refused.contains("has the role `control`"), "{refused}");
    let unknown = text.replace("anti-pattern", "loser");
    assert!(refusal(&unknown).contains("unknown variant `loser`"));
}

#[test]
fn a_restart_goes_with_neither_warm_ups_nor_loads() {
    let (text, _) = with("[[step]]", "[[step]]\nrestart = true\n[[step]]");
    let study = Study::parse("s.toml", &text).unwrap();
    assert_eq!(study.workload[0], Step::Restart);
    let warm = text.replace("blocks = 3", "blocks = 3\nwarmup_calls = 5");
    let refused = refusal(&warm);
    assert!(refused.contains("starts a cold process"), "{refused}");
    let refused = refusal(&text.replace("times = 2", "for_s = 1"));
    assert!(
        refused.contains("`restart` does not go with `for_s`"),
        "{refused}"
    );
    let parallel = "[[step]]\nparallel = true\nsteps = [{ restart = true }]";
    let refused = refusal(&format!("{SMALL}{parallel}"));
    assert!(refused.contains("parallel takes call, get"), "{refused}");
}

#[test]
fn only_a_client_that_decides_has_a_policy() {
    let (text, _) = with(
        "protocol = \"h3\"",
        "protocol = \"auto\"\npolicy = \"race\"",
    );
    let study = Study::parse("s.toml", &text).unwrap();
    assert_eq!(study.arms[2].policy, Some(Policy::Race));
    let refused = refusal(&text.replace("auto", "h3"));
    assert!(
        refused.contains("use it with protocol = \"auto\""),
        "{refused}"
    );
}

#[test]
fn arms_choose_the_kind_of_keys_or_have_the_studys() {
    let keys = |text: &str| {
        let study = Study::parse("s.toml", text).unwrap();
        let name = |arm: &Arm| arm.key.map(Certificate::name);
        study.arms.iter().map(name).collect::<Vec<_>>()
    };
    let (of_arm, _) = with("stack = \"quinn\"", "stack = \"quinn\"\nkey = \"rsa-2048\"");
    assert_eq!(keys(&of_arm), [None, None, Some("rsa-2048")]);
    let of_study = of_arm.replace("blocks = 3", "blocks = 3\nkey = \"p256\"");
    assert_eq!(
        keys(&of_study),
        [Some("p256"), Some("p256"), Some("rsa-2048")]
    );
}

#[test]
fn default_name_shows_another_server_than_the_studys() {
    let (text, _) = with("protocol = \"h3\"", "protocol = \"h3\"\nserver = \"go\"");
    let names = |text: &str| {
        let study = Study::parse("s.toml", text).unwrap();
        let arms = study.arms.into_iter();
        arms.map(|arm| (arm.name, arm.server)).collect::<Vec<_>>()
    };
    let pair = |name: &str, server: &str| (name.to_owned(), server.to_owned());
    let own = ["hyper h2", "again"].map(|name| pair(name, "commute"));
    assert_eq!(names(&text)[..2], own);
    assert_eq!(names(&text)[2], pair("quinn h3 (go server)", "go"));
    let all = SMALL.replace("blocks = 3", "blocks = 3\nserver = \"go\"");
    assert_eq!(names(&all)[2], pair("quinn h3", "go"));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the bundled studies are files")]
fn bundled_studies_are_valid_and_so_is_the_published_schema() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let schema = Study::file_schema();
    let published = serde_json::to_string_pretty(&schema).unwrap();
    let file = format!("{root}/docs/study.schema.json");
    testing::golden(file, &format!("{published}\n"));
    let beside = |file: &str, _: u64| std::fs::read(format!("{root}/studies/{file}"));
    let mut seen = 0;
    for entry in std::fs::read_dir(format!("{root}/studies")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        Study::parse_with(&name, &text, &beside).unwrap();
        let table: toml::Table = text.parse().unwrap();
        testing::assert_valid(&name, &serde_json::to_value(table).unwrap(), &schema);
        let editors = "#:schema ../docs/study.schema.json\n";
        assert!(
            text.starts_with(editors),
            "{name} does not begin with {editors}"
        );
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn the_documented_example_is_valid() {
    let page = include_str!("../../../../../docs/how-to/add-a-study.md");
    let (_, section) = page.split_once("## A study of your own").unwrap();
    let (_, after) = section.split_once("```toml\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    Study::parse("docs/how-to/add-a-study.md", example).unwrap();
}

#[test]
fn a_study_needs_arms() {
    let end = SMALL.find("[[arm]]").unwrap();
    let steps = SMALL.find("[[step]]").unwrap();
    assert!(refusal(&format!("{}{}", &SMALL[..end], &SMALL[steps..])).contains("no [[arm]]"));
}

#[test]
fn arms_say_what_they_do_otherwise() {
    let (text, _) = with(
        "name = \"again\"",
        "name = \"again\"\nsecurity = \"none\"\nauth = \"jwt\"\nconnections = \"per-request\"\n\
         resumption = true\nearly_data = true\naccess = \"paused:3000ms\"",
    );
    let text = text.replace("name = \"again\"", "name = \"again\"\nprotocol = \"h1\"");
    let text = text.replacen(
        "stack = \"hyper\"\nprotocol = \"h2\"\n[[arm]]\nstack = \"quinn\"",
        "stack = \"hyper\"\n[[arm]]\nstack = \"quinn\"",
        1,
    );
    let study = Study::parse("s.toml", &text).unwrap();
    let arm = &study.arms[1];
    assert_eq!(
        (arm.security, arm.auth),
        (Security::None, Some(AuthScheme::Jwt))
    );
    assert_eq!(
        arm.behaviour,
        Behaviour {
            connections: Connections::PerRequest,
            resumption: true,
            early_data: true,
            access: Access::Paused { ns: 3_000_000_000 },
            chunk_bytes: None,
        }
    );
    assert_eq!(study.arms[0].behaviour, Behaviour::default());
}

#[test]
fn arms_that_cannot_follow_the_workload_are_refused() {
    let quinn = |line: &str| with("stack = \"quinn\"", &format!("stack = \"quinn\"\n{line}")).0;
    let refused = |text: String, expected: &str| {
        let refusal = refusal(&text);
        assert!(refusal.contains(expected), "{refusal}");
    };
    refused(quinn("security = \"none\""), "is for h1 and grpc only");
    refused(quinn("chunk_bytes = 1000"), "is for gRPC's streams");
    refused(quinn("access = \"paused\""), "paused:3000ms");
    refused(quinn("connections = \"new\""), "unknown variant");
    let per_request = "connections = \"per-request\"";
    let parallel = "\n[[step]]\nparallel = true\nsteps = [{ call = \"echo\", times = 2 }]";
    refused(
        quinn(per_request) + parallel,
        "does not go with parallel steps",
    );
    refused(
        quinn(&format!("{per_request}\naccess = \"parallel\"")),
        "cannot overlap",
    );
    let stream = "\n[[step]]\nstream = \"chat\"";
    refused(
        quinn("auth = \"hmac\"") + stream,
        "not the messages of a `stream`",
    );
    let grpc = quinn("chunk_bytes = 1000").replace("\"h3\"", "\"grpc\"");
    refused(grpc, "no step is a `submit`");
    let submit = "\n[[step]]\nsubmit = \"up\"\nmessage = \"newsfeed\"";
    refused(SMALL.to_owned() + submit, "\"diag-100kB\" or \"diag-1MB\"");
}

#[test]
fn a_body_has_the_length_that_is_asked_for() {
    let (text, _) = with("call = \"echo\"", "call = \"echo\"\nbody_bytes = 2500");
    let study = Study::parse("s.toml", &text).unwrap();
    let Step::Call { body, .. } = &study.workload[0] else {
        panic!("not a call");
    };
    assert_eq!(body.len(), 2500);
    assert!(messages::Echo::from_json(body.as_bytes()).is_ok());
    let refused = refusal(&text.replace("2500", "10"));
    assert!(refused.contains("out of range: 39 to 32768"), "{refused}");
}

#[test]
fn a_submitted_message_is_one_that_the_server_takes() {
    let submit = "\n[[step]]\nsubmit = \"up\"\nmessage = \"diag-100kB\"\ntimes = 2";
    let study = Study::parse("s.toml", &(SMALL.to_owned() + submit)).unwrap();
    assert!(matches!(study.workload[1], Step::Submit { times: 2, .. }));
}

#[test]
fn keys_of_another_table_are_answered_with_its_name() {
    for (wrong, table) in [
        ("headers = { accept = \"*/*\" }\n", "key of a [[step]]"),
        ("stack = \"hyper\"\n", "key of an [[arm]]"),
    ] {
        let error = Study::parse("s.toml", &format!("{wrong}{SMALL}")).unwrap_err();
        assert!(error.message.contains(table), "{error}");
    }
}
