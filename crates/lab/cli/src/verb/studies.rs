//! `commute studies`: lists the built-in studies, or prints one.

use std::path::{Path, PathBuf};

use lab::Lab;
use serde::Serialize;

use crate::out::Listing;
use crate::{exit, out};

/// List the built-in studies with their questions, or print one
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute studies\n  \
    commute studies own > my.toml     a study to change by hand\n  \
    commute run quickstart --dry-run  what it compares, and how long it takes")]
pub(crate) struct Args {
    /// Print the file of this study
    study: Option<String>,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t, conflicts_with = "study")]
    format: Listing,
    /// Folder with studies/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

/// What is listed of a study.
#[derive(Serialize)]
struct Row {
    name: String,
    question: String,
    networks: Vec<String>,
    arms: usize,
    blocks: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    if let Some(name) = &args.study {
        let file = lab.home.study(Path::new(name))?;
        let text = std::fs::read_to_string(&file);
        let cannot = |e| exit::file_error(format!("cannot read {}", file.display()), e);
        out::file(&text.map_err(cannot)?)?;
        return Ok(exit::PASS);
    }
    let names = lab.home.studies();
    let rows: Vec<Row> = names
        .into_iter()
        .map(|name| row(&lab, name))
        .collect::<Result<_, _>>()?;
    match args.format {
        Listing::Json => out::json(&rows)?,
        Listing::Human => out::text(&table(&rows))?,
    }
    Ok(exit::PASS)
}

fn row(lab: &Lab, name: String) -> anyhow::Result<Row> {
    let file = lab.home.study(Path::new(&name))?;
    let study = lab::parse_study(&file)?;
    Ok(Row {
        name,
        question: study.question,
        networks: study.networks,
        arms: study.arms.len(),
        blocks: study.blocks,
    })
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let line = |row: &Row| format!("{:width$}  {}\n", row.name, row.question);
    rows.iter().map(line).collect()
}
