//! Tables of medians in a page that people write. `commute findings` writes what stands between the lines
//! `<!-- findings: NAME -->` and `<!-- end -->`, from the `[[table]]` of this name.

use crate::FindingsError;
use crate::claims::Table;
use crate::finding::{CLAIMS, Finding};
use crate::words::{block_count, or_unknown, plain, table, verdict, version};

const BEGIN: &str = "<!-- findings: ";
const END: &str = "<!-- end -->";

/// Returns the page with the tables of a study; `file` names the page in errors.
pub(crate) fn fill(finding: &Finding, file: &str, page: &str) -> Result<String, FindingsError> {
    let mut filled = String::with_capacity(page.len());
    let mut missing: Vec<&Table> = finding.claims.tables.iter().collect();
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        filled += line;
        filled += "\n";
        let name = line
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = name else { continue };
        let error = |message: String| FindingsError::Data {
            file: format!("{file}:{number}"),
            message,
        };
        let at = missing.iter().position(|table| table.name.as_ref() == name);
        let at = at.ok_or_else(|| {
            let study = &finding.name;
            error(format!(
                "{study}/{CLAIMS} has no [[table]] named `{name}`, or the page has it twice"
            ))
        })?;
        filled += &format!("\n{}\n{END}\n", markdown(finding, missing.swap_remove(at)));
        if !lines.any(|(_, line)| line == END) {
            return Err(error(format!("table `{name}` has no end: `{END}`")));
        }
    }
    match missing.first() {
        Some(table) => {
            let name = table.name.as_ref();
            let message = format!("{file} has no line `{BEGIN}{name} -->` for this table");
            Err(finding.error(&table.name.span(), message).into())
        }
        None => Ok(filled),
    }
}

/// Returns a row for each network and measure, with the median of each arm and its verdict against the first.
fn markdown(finding: &Finding, of: &Table) -> String {
    let name = finding.claims.run(&of.run);
    let Some(ours) = finding.ours.get(name) else {
        return format!("Run {} was not made yet.\n", plain(name));
    };
    let arms = || of.arms.iter().map(|arm| arm.as_ref().as_str());
    let first = of.arms[0].as_ref();
    let mut blocks = Vec::new();
    let mut rows = Vec::new();
    for network in of.networks.iter().map(AsRef::as_ref) {
        for measure in of.measures.iter().map(AsRef::as_ref) {
            let mut row = vec![String::clone(network), String::clone(measure)];
            for arm in arms() {
                let place = ours.place(network, measure, arm);
                let median = ours.median(&place);
                blocks.extend(median.map(|median| median.blocks));
                let mut cell = or_unknown(median.map(report::with_interval));
                if arm != first
                    && let Some(comparison) = ours.compare(&place, first)
                {
                    let words = match ours.is_invalid(network) {
                        true => "not decided",
                        false => verdict(comparison.verdict, place.kind),
                    };
                    cell += &format!(", {words}");
                }
                row.push(cell);
            }
            rows.push(row);
        }
    }
    let columns: Vec<String> = arms().map(plain).collect();
    let head = ["network", "measure"].into_iter();
    let head: Vec<&str> = head.chain(columns.iter().map(String::as_str)).collect();
    format!(
        "{}\nRun {}, {}, {}. Medians of {} with 95 % intervals; verdicts against {}.\n",
        table(&head, &rows),
        plain(name),
        plain(&ours.run.date),
        plain(&version(&ours.run.commute, &ours.run.commits)),
        or_unknown(block_count(&blocks)),
        plain(first),
    )
}
