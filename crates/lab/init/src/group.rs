//! Groups requests by template; one request stands for each group.

mod kinds;
mod names;
mod origins;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use crate::notes::Notes;
use crate::seen::Seen;
use crate::slug::slug;
use kinds::{by_length, is_split, longest_lasting, typical};
use names::{name_of, unique, with_length};
use origins::{host, origins_by_requests, share_connections};
use template::template;

pub(crate) use origins::check_host;

/// The first and four others.
const MAX_ORIGINS: usize = 5;
/// Requests with the same method, origin, template of a path and, in GraphQL, operation, and responses of about one
/// length.
pub(crate) struct Group<'a> {
    /// Unique among the groups.
    pub(crate) name: String,
    pub(crate) path: String,
    /// The name of its origin; none for the first.
    pub(crate) origin: Option<String>,
    pub(crate) times: u64,
    /// The length of the typical response, if that is JSON; else the mean of all.
    pub(crate) response_bytes: u64,
    /// Whether all responses are as long.
    pub(crate) alike: bool,
    /// The request whose response is nearest to the mean.
    pub(crate) typical: &'a Seen,
}

/// Where requests go besides the first origin, by name.
pub(crate) struct Origin {
    pub(crate) name: String,
    /// Whether one connection was used for it and for the first.
    pub(crate) shares_connections: bool,
}

/// The groups, the origins, and the group of each request; none if it is left out.
pub(crate) struct Grouped<'a> {
    pub(crate) groups: Vec<Group<'a>>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) group_of: Vec<Option<usize>>,
}

/// Groups requests, whose paths the lab's server answers or, if `as_they_were`, one that has paths of its own.
pub(crate) fn group<'a>(
    seen: &'a [Seen],
    as_they_were: bool,
    own: Option<&str>,
    notes: &mut Notes,
) -> Grouped<'a> {
    let names = origins_by_requests(seen, own);
    let plaintext = seen.iter().filter(|request| request.is_plaintext);
    for origin in plaintext.map(|r| &r.origin).collect::<BTreeSet<_>>() {
        notes.remark(format!(
            "requests to {origin} had no TLS and have it in the study; `security = \"none\"` sends all of an \
             arm's without"
        ));
    }
    let place = |origin: &str| names.iter().position(|name| *name == origin);
    let mut by_template: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (index, request) in seen.iter().enumerate() {
        let Some(place) = place(&request.origin).filter(|place| *place < MAX_ORIGINS) else {
            notes.left_out(format!(
                "a request to {}: a study has at most {MAX_ORIGINS} origins",
                request.origin
            ));
            continue;
        };
        let operation = request.operation.as_deref().unwrap_or_default();
        // A browser gets a page and a script gets data from one path.
        let answer = match request.response.is_json() {
            true => "json",
            false => "",
        };
        let kind = format!(
            "{} {} {operation} {answer}",
            request.method,
            template(request)
        );
        by_template.entry((place, kind)).or_default().push(index);
    }
    let by_kind = by_length(by_template, seen, as_they_were);
    let order = longest_lasting(&by_kind, seen, notes);
    let mut grouped = Grouped {
        groups: Vec::new(),
        origins: Vec::new(),
        group_of: vec![None; seen.len()],
    };
    let mut names_of_groups = BTreeMap::new();
    let mut name_of_template: BTreeMap<(usize, &String), String> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    let mut origin_names: BTreeMap<usize, String> = BTreeMap::new();
    for key in &order {
        let indices = &by_kind[key];
        let Some((typical, response_bytes)) = typical(indices, seen) else {
            continue;
        };
        let lengths = || indices.iter().map(|index| seen[*index].response.bytes);
        let origin = (key.0 > 0).then(|| {
            let taken: BTreeSet<String> = origin_names.values().cloned().collect();
            let name = || unique(&slug(host(&typical.origin)), |name| taken.contains(name));
            origin_names.entry(key.0).or_insert_with(name).clone()
        });
        let path = match &typical.kept_path {
            Some(path) => path.clone(),
            None => template(typical).path_with_query(typical),
        };
        let path = match as_they_were {
            true => path,
            false => told_apart(&path, typical, origin.as_deref(), &mut paths),
        };
        for index in indices {
            grouped.group_of[*index] = Some(grouped.groups.len());
        }
        let name = match is_split(&by_kind, key) {
            false => name_of(typical, &names_of_groups),
            true => {
                let name = name_of_template
                    .entry((key.0, &key.1))
                    .or_insert_with(|| name_of(typical, &names_of_groups));
                names_of_groups.insert(name.clone(), typical.method.clone());
                with_length(name, response_bytes, &names_of_groups)
            }
        };
        names_of_groups.insert(name.clone(), typical.method.clone());
        grouped.groups.push(Group {
            name,
            path,
            origin,
            times: indices.len() as u64,
            response_bytes,
            alike: lengths().min() == lengths().max(),
            typical,
        });
    }
    grouped.origins = origin_names
        .into_iter()
        .map(|(place, name)| Origin {
            name,
            shares_connections: share_connections(seen, names[0], names[place]),
        })
        .collect();
    grouped
}

/// Returns a path that no other group with the same method has, since the lab's server knows requests by
/// these.
fn told_apart(
    path: &str,
    request: &Seen,
    origin: Option<&str>,
    taken: &mut BTreeSet<String>,
) -> String {
    let begin = if path.contains('?') { '&' } else { '?' };
    let by = match &request.operation {
        Some(operation) => format!("operation={operation}"),
        None => format!("at={}", origin.unwrap_or("first")),
    };
    let others = (2_u64..).map(|n| format!("{path}{begin}{by}-{n}"));
    let candidates = [path.to_owned(), format!("{path}{begin}{by}")];
    let method = &request.method;
    let mut free = (candidates.into_iter().chain(others))
        .filter(|path| taken.insert(format!("{method} {path}")));
    free.next().unwrap_or_default()
}
