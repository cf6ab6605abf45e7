//! Runs every fuzz target on its corpus and on mutations of it.
//!
//! `COMMUTE_SEED` sets the first seed, and `COMMUTE_CASES` the number of mutations for each target. A failure names the
//! seed of its input, so that `COMMUTE_SEED=seed COMMUTE_CASES=1` repeats it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use fuzz_targets::{TARGETS, Target};
use peers::Rng;

/// Mutations for each target.
const CASES: u64 = 5_000;
/// Mutations for `c_abi`, whose calls wait for responses.
const C_ABI_CASES: u64 = 1_000;
/// Most changes to an input.
const CHANGES: usize = 6;
/// Longest piece that a change removes, inserts or repeats, bytes.
const PIECE: usize = 32;
/// Limits of lengths and numbers, and what separates or encloses values in text.
const TOKENS: &[&[u8]] = &[
    b"\0",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"0",
    b"-1",
    b"9999999999",
    b"18446744073709551616",
    b"1e999",
    b"nan",
    b"null",
    b"\"",
    b"'",
    b"\\",
    b"[",
    b"{}",
    b"=",
    b":",
    b",",
    b";",
    b"%",
    b" ",
    b"\n",
    b"\r\n",
    "é".as_bytes(),
];

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let entries = fs::read_dir(corpus()).expect("fuzz/corpus is a folder");
    let folders: BTreeSet<String> = entries
        .map(|entry| entry.expect("it is readable").file_name())
        .map(|name| name.into_string().expect("the name is UTF-8"))
        .collect();
    assert_eq!(targets, folders, "targets (left), fuzz/corpus (right)");
}

#[test]
fn no_input_makes_a_target_panic() {
    // The gate runs the same inputs each time.
    let seed = number("COMMUTE_SEED").unwrap_or(1);
    let cases =
        |name| number("COMMUTE_CASES").unwrap_or(if name == "c_abi" { C_ABI_CASES } else { CASES });
    let failures: Vec<String> = thread::scope(|scope| {
        let start = |&(name, target)| {
            let seeds = seed..seed + cases(name);
            scope.spawn(move || check(name, target, seeds).err())
        };
        let threads: Vec<_> = TARGETS.iter().map(start).collect();
        let results = threads.into_iter().map(thread::ScopedJoinHandle::join);
        results
            .filter_map(|result| result.expect("panics of targets are caught"))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a target on no bytes, on each file of its corpus and on a mutation for each seed. Returns the first failure.
fn check(name: &str, target: Target, seeds: impl Iterator<Item = u64>) -> Result<(), String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(corpus().join(name))
        .map_err(|e| format!("{name}: fuzz/corpus/{name}: {e}"))?
        .map(|entry| entry.expect("it is readable").path())
        .collect();
    // The order of a folder differs between machines.
    paths.sort();
    let mut files = vec![Vec::new()];
    run(name, target, "no bytes", &files[0])?;
    for path in paths {
        let bytes = fs::read(&path).expect("it is readable");
        run(name, target, &path.display().to_string(), &bytes)?;
        files.push(bytes);
    }
    for seed in seeds {
        run(name, target, &format!("seed {seed}"), &mutate(&files, seed))?;
    }
    Ok(())
}

/// Runs a target on one input.
fn run(name: &str, target: Target, origin: &str, input: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| target(input))).map_err(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let hex = input.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("strings grow");
            hex
        });
        format!(
            "{name} panics on {origin}: {message}\nto keep the input: echo {hex} | xxd -r -p >fuzz/corpus/{name}/NAME"
        )
    })
}

/// Returns one of the files with some changes.
fn mutate(files: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = rng.pick(files);
    for _ in 0..=rng.below(CHANGES) {
        change(&mut bytes, files, &mut rng);
    }
    bytes
}

/// Makes one change to an input.
fn change(bytes: &mut Vec<u8>, files: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len() + 1);
    let piece = at..(at + rng.below(PIECE) + 1).min(bytes.len());
    match rng.below(8) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.bytes(1)[0];
            }
        }
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(piece)),
        // Repeats a piece.
        4 => {
            let repeated = bytes[piece].to_vec();
            bytes.splice(at..at, repeated);
        }
        5 => drop(bytes.splice(at..at, rng.pick(TOKENS).iter().copied())),
        // Overwrites.
        6 => {
            let token = rng.pick(TOKENS);
            let end = (at + token.len()).min(bytes.len());
            bytes.splice(at..end, token.iter().copied());
        }
        // Continues as another file does.
        _ => {
            let other = rng.pick(files);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[rng.below(other.len() + 1)..]);
        }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}
