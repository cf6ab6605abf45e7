//! `[origins]`: the names that steps go to besides the first.

use std::collections::{BTreeMap, BTreeSet};

use config::{ConfigError, Source};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{Arm, Security, Step};
use crate::slug::slug;

/// The most origins besides the first: each may be a server of its own on a machine of a few cores.
pub const MAX_ORIGINS: usize = 4;

/// As written: by name, where the origin is.
pub(super) type RawOrigins = BTreeMap<Spanned<String>, Placement>;

/// The origins besides the first that an arm's steps go to, by name.
pub type Origins = BTreeMap<String, Placement>;

/// Where an origin besides the first is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// A second name of the first origin's server: the same addresses, port and certificate.
    SameServer,
    /// A server of its own, at the same addresses with another port, certificate and authority.
    OwnServer,
}

impl Placement {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Placement::SameServer => "same-server",
            Placement::OwnServer => "own-server",
        }
    }
}

/// What an arm says of all origins of its study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ArmOrigins {
    /// There is one: every step goes to the first.
    One,
    SameServer,
    OwnServer,
}

/// Returns an arm's origins.
pub(super) fn of_arm(study: &RawOrigins, arm: Option<ArmOrigins>) -> Origins {
    let placed = |as_the_study_says| match arm {
        None => Some(as_the_study_says),
        Some(ArmOrigins::One) => None,
        Some(ArmOrigins::SameServer) => Some(Placement::SameServer),
        Some(ArmOrigins::OwnServer) => Some(Placement::OwnServer),
    };
    (study.iter())
        .filter_map(|(name, at)| Some((name.get_ref().clone(), placed(*at)?)))
        .collect()
}

/// Checks the names of the origins, and that steps use each of them.
pub(super) fn check(
    raw: &RawOrigins,
    workload: &[Step],
    source: &Source<'_>,
) -> Result<(), ConfigError> {
    let used = used(workload);
    for (n, name) in raw.keys().enumerate() {
        let (span, name) = (name.span(), name.get_ref());
        if n == MAX_ORIGINS {
            return Err(source.error(&span, format!("origins: at most {MAX_ORIGINS}")));
        }
        if name.is_empty() || *name != slug(name) {
            return Err(source.error(
                &span,
                format!("origin {name:?}: use lower-case letters, digits and dashes"),
            ));
        }
        if !used.contains(name.as_str()) {
            return Err(source.error(
                &span,
                format!("no step goes to the origin `{name}`; leave it out, or add `origin = \"{name}\"`"),
            ));
        }
    }
    Ok(())
}

/// Returns why an arm cannot use its origins, if it cannot.
pub(super) fn contradiction(arm: &Arm) -> Option<String> {
    let has_own = (arm.origins.values()).any(|at| *at == Placement::OwnServer);
    let of_first = arm.auth.is_some() || arm.security == Security::Mtls;
    (has_own && of_first).then(|| {
        "an origin with a server of its own does not go with `auth` or security = \"mtls\": each \
         server makes its own keys, and accepts no others"
            .to_owned()
    })
}

/// Returns the names that steps go to.
fn used(steps: &[Step]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for step in steps {
        match step {
            Step::At { origin, step } => {
                names.insert(origin.as_str());
                names.extend(used(std::slice::from_ref(step)));
            }
            Step::Repeat { steps, .. } | Step::Parallel(steps) => names.extend(used(steps)),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use crate::plan::small_plan::SMALL;

    const FILES: &str = "[[step]]\nget = \"f\"\nbytes = 1\norigin = \"files\"\n";

    fn study(origins: &str, steps: &str) -> Result<Study, String> {
        let text = format!("{SMALL}\n{steps}\n[origins]\n{origins}");
        Study::parse("s.toml", &text).map_err(|e| e.to_string())
    }

    #[test]
    fn arms_have_the_origins_of_the_study_or_their_own() {
        let found = study("files = \"same-server\"", FILES).unwrap();
        let expected = Origins::from([("files".to_owned(), Placement::SameServer)]);
        assert!(found.arms.iter().all(|arm| arm.origins == expected));
        let text = format!("{SMALL}\n{FILES}\n[origins]\nfiles = \"same-server\"");
        for (key, expected) in [("one", None), ("own-server", Some(Placement::OwnServer))] {
            let own = format!("stack = \"quinn\"\norigins = \"{key}\"");
            let text = text.replacen("stack = \"quinn\"", &own, 1);
            let arms = Study::parse("s.toml", &text).unwrap().arms;
            let quinn = arms.iter().find(|arm| arm.stack == "quinn").unwrap();
            assert_eq!(quinn.origins.get("files").copied(), expected, "{key}");
        }
    }

    #[test]
    fn bad_origins_are_refused_with_their_line() {
        let film = FILES.replace("files", "film");
        let five: String = ["a", "b", "c", "d", "e"]
            .map(|name| format!("{name} = \"own-server\"\n"))
            .concat();
        let to_five: String = ["a", "b", "c", "d", "e"]
            .map(|name| FILES.replace("files", name))
            .concat();
        for (origins, steps, expected) in [
            (
                "files = \"same-server\"",
                "",
                "no step goes to the origin `files`",
            ),
            (
                "files = \"same-server\"",
                film.as_str(),
                "there is no origin `film` (did you mean `files`?)",
            ),
            ("\"My files\" = \"own-server\"", "", "lower-case letters"),
            (five.as_str(), to_five.as_str(), "at most 4"),
            ("files = \"elsewhere\"", FILES, "same-server"),
        ] {
            let refused = study(origins, steps).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(refused.contains("s.toml:"), "{refused}");
        }
    }

    #[test]
    fn only_requests_go_to_an_origin() {
        let pause = "[[step]]\npause_ms = 1.0\norigin = \"files\"\n";
        let refused = study("files = \"own-server\"", pause).unwrap_err();
        assert!(refused.contains("`origin` goes with call"), "{refused}");
    }

    #[test]
    fn a_server_of_its_own_has_keys_of_its_own() {
        let mtls = format!("{SMALL}\n{FILES}\n[origins]\nfiles = \"own-server\"").replacen(
            "stack = \"quinn\"",
            "stack = \"quinn\"\nsecurity = \"mtls\"",
            1,
        );
        let refused = Study::parse("s.toml", &mtls).unwrap_err().to_string();
        assert!(refused.contains("makes its own keys"), "{refused}");
    }
}
