//! Labels of the rows of the brief report: requests by method and path, as the app makes them.

use neutral::plain;

use crate::summary::GroupSummary;
use crate::summary::measure::Measure;
use crate::words::text::width_of;

const CUT: &str = "…";

/// Returns the labels of measures, with the method and the path of each group instead of its name where it has
/// one. Groups with the same path keep their names behind it.
pub(crate) fn labels(measures: &[&Measure], groups: &[GroupSummary]) -> Vec<String> {
    let paths: Vec<Option<&str>> = groups.iter().map(|group| path(&group.about)).collect();
    let of_group = |name: &str| {
        let index = groups.iter().position(|group| group.name == name)?;
        let path = paths[index]?;
        let is_shared = paths.iter().filter(|other| **other == Some(path)).count() > 1;
        Some(match is_shared {
            true => format!("{path} ({name})"),
            false => path.to_owned(),
        })
    };
    let label = |measure: &&Measure| match of_group(&measure.group) {
        Some(path) => with_path(&measure.label, &measure.group, &path),
        None => measure.label.clone(),
    };
    measures.iter().map(label).collect()
}

/// Returns labels of at most `room` columns. A path loses its first parts; where two would look the same, the
/// names of the groups stand for both.
pub(crate) fn fitted(labels: &[String], measures: &[&Measure], room: usize) -> Vec<String> {
    let short: Vec<String> = labels.iter().map(|label| shortened(label, room)).collect();
    let is_unique = |label: &String| short.iter().filter(|other| *other == label).count() == 1;
    let fitted = short
        .iter()
        .zip(measures)
        .map(|(label, measure)| match is_unique(label) {
            true => label.clone(),
            false => shortened(&plain(&measure.label), room),
        });
    fitted.collect()
}

/// Returns the method and the path that a description of requests begins with, without the query, e.g. of
/// `GET /v2/feed?page=1, answered with 2075 B`.
fn path(about: &str) -> Option<&str> {
    let (method, rest) = about.split_once(' ')?;
    if !rest.starts_with('/')
        || method.is_empty()
        || !method.chars().all(|c| c.is_ascii_uppercase())
    {
        return None;
    }
    // A group of several paths has none.
    if rest.split(' ').skip(1).any(|word| word.starts_with('/')) {
        return None;
    }
    let end = rest.find(['?', ' ', ',']).unwrap_or(rest.len());
    Some(&about[..method.len() + 1 + end])
}

/// Replaces the name of the group, e.g. in `warm feed requests`. A label without the name stays as it is.
fn with_path(label: &str, group: &str, path: &str) -> String {
    let endings = [" requests", " request on a connection", " request"];
    let stem = endings.iter().find_map(|ending| label.strip_suffix(ending));
    if let Some(before) = stem.and_then(|stem| stem.strip_suffix(group))
        && before.ends_with(' ')
    {
        return format!("{before}{path}");
    }
    match label.strip_prefix(group) {
        Some(rest) if rest.is_empty() || rest.starts_with(" (") => format!("{path}{rest}"),
        _ => label.to_owned(),
    }
}

/// Cuts a text to at most `room` columns: of a path the first parts, else the end.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    if let Some(start) = text.find('/') {
        let (before, path) = text.split_at(start);
        let parts = path.match_indices('/').map(|(at, _)| &path[at..]);
        let fits = |part: &&str| width_of(before) + 1 + width_of(part) <= room;
        if let Some(part) = parts.clone().find(fits) {
            return format!("{before}{CUT}{part}");
        }
    }
    cut(text, room)
}

/// Cuts the end of a text so that it takes at most `room` columns.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        let longer = format!("{out}{c}");
        if width_of(&longer) + 1 > room {
            break;
        }
        out = longer;
    }
    out.trim_end().to_owned() + CUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_for_the_name_of_its_group() {
        assert_eq!(
            path("GET /v2/feed?page=1, answered with 2 B"),
            Some("GET /v2/feed")
        );
        assert_eq!(
            path("POST /v2/orders 99 B, answered with 34 B"),
            Some("POST /v2/orders")
        );
        assert_eq!(path("GET 150000 B"), None);
        assert_eq!(
            path("GET /a, answered with 1 B, GET /b, answered with 1 B"),
            None
        );
        assert_eq!(path("exchange api-2kB"), None);
        let label = |label| with_path(label, "feed", "GET /feed");
        assert_eq!(label("feed"), "GET /feed");
        assert_eq!(label("p95 of warm feed requests"), "p95 of warm GET /feed");
        assert_eq!(label("feed (2.5 s, 200/s)"), "GET /feed (2.5 s, 200/s)");
        assert_eq!(label("warm requests"), "warm requests");
        assert_eq!(
            with_path("all 4 all requests", "all", "GET /x"),
            "all 4 GET /x"
        );
        assert_eq!(
            with_path("first request", "first", "GET /x"),
            "first request"
        );
    }

    #[test]
    fn a_path_loses_its_first_parts() {
        let text = "all 12 GET /v2/items/1/reviews";
        assert_eq!(shortened(text, 30), text);
        assert_eq!(shortened(text, 29), "all 12 GET …/items/1/reviews");
        assert_eq!(shortened(text, 20), "all 12 GET …/reviews");
        assert_eq!(shortened(text, 14), "all 12 GET /v…");
        assert_eq!(shortened("download of 150 kB", 10), "download…");
    }
}
