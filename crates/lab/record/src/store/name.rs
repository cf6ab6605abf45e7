//! Names of records below the folder of their run.

use std::fmt;

use crate::cell::Cell;
use crate::data::is_safe_id;

pub(super) const HEADER: &str = "run.json";
/// The folder of cells below that of their run.
pub const CELLS: &str = "cells";
/// The folder of the files that a study names.
pub const PAYLOADS: &str = "payloads";

/// The name of a record below the folder of its run, wherever that is kept. Nothing in it leads out of that folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordName(Kind);

/// In the order in which a run writes them: the header follows the files that it names, and comes before all cells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Payload(String),
    Header,
    Cell(String),
}

impl RecordName {
    /// The name of the header.
    pub const HEADER: Self = Self(Kind::Header);

    /// Parses a path below the folder, which has `/` between its parts. Returns none if no record has that path.
    pub fn parse(path: &str) -> Option<Self> {
        let kind = match path.split_once('/') {
            None if path == HEADER => Kind::Header,
            Some((CELLS, name)) if is_cell(name) => Kind::Cell(name.to_owned()),
            Some((PAYLOADS, name)) if is_digest(name) => Kind::Payload(name.to_owned()),
            _ => return None,
        };
        Some(Self(kind))
    }

    pub(super) fn of_cell(cell: &Cell) -> Option<Self> {
        is_safe_id(&cell.id).then(|| Self(Kind::Cell(cell.file_name())))
    }

    pub(super) fn of_payload(digest: &str) -> Option<Self> {
        is_digest(digest).then(|| Self(Kind::Payload(digest.to_owned())))
    }

    /// Reports whether it is the name of a cell.
    pub fn is_cell(&self) -> bool {
        matches!(self.0, Kind::Cell(_))
    }

    /// Reports whether it is the name of a file that the study names.
    pub fn is_payload(&self) -> bool {
        matches!(self.0, Kind::Payload(_))
    }

    /// Returns the folder below that of the run; none for the header.
    pub(super) fn folder(&self) -> Option<&'static str> {
        match self.0 {
            Kind::Payload(_) => Some(PAYLOADS),
            Kind::Header => None,
            Kind::Cell(_) => Some(CELLS),
        }
    }
}

/// Writes the path below the folder, with `/` between its parts.
impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Payload(digest) => write!(f, "{PAYLOADS}/{digest}"),
            Kind::Header => f.write_str(HEADER),
            Kind::Cell(name) => write!(f, "{CELLS}/{name}"),
        }
    }
}

/// Reports whether [`Cell::file_name`] makes such names.
fn is_cell(name: &str) -> bool {
    let number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u32>().is_ok();
    let parts = name.strip_suffix(".json").map(|stem| stem.rsplitn(3, '.'));
    let Some(mut parts) = parts else {
        return false;
    };
    match (parts.next(), parts.next(), parts.next()) {
        (Some(attempt), Some(invocation), Some(id)) => {
            number(attempt) && number(invocation) && is_safe_id(id)
        }
        _ => false,
    }
}

fn is_digest(name: &str) -> bool {
    name.len() == 64
        && name
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_records_come_back_as_they_were() {
        let digest = "0f".repeat(32);
        for path in [
            "run.json",
            "cells/basic_0-one.1.2.json",
            "cells/4g-tether_a.b.1.1.json",
            &format!("payloads/{digest}"),
        ] {
            let name = RecordName::parse(path).map(|name| name.to_string());
            assert_eq!(name.as_deref(), Some(path));
        }
    }

    #[test]
    fn no_other_path_is_a_record() {
        for path in [
            "",
            "/run.json",
            "./run.json",
            "cells",
            "cells/",
            "cells/run.json",
            "cells/a.json",
            "cells/a.1.json",
            "cells/a.1.+1.json",
            "cells/a.1.99999999999.json",
            "cells/.a.1.1.json",
            "cells/..1.1.json",
            "cells/../a.1.1.json",
            "cells/a/b.1.1.json",
            "cells\\a.1.1.json",
            "cells/a\u{202e}.1.1.json",
            "cells/a.1.1.json/",
            "payloads/../run.json",
            "payloads/0F",
            &format!("payloads/{}", "0F".repeat(32)),
            &format!("cells/{}.1.1.json", "a".repeat(129)),
            "report.html",
        ] {
            assert_eq!(RecordName::parse(path), None, "{path}");
        }
    }
}
