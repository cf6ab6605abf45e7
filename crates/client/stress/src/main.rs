//! `commute-client-stress c OPERATIONS` and `commute-client-stress jvm LIBRARY OPERATIONS` call an interface at random.
//! Instead of a number, `use-after-free`, `data-race` and `leak` plant such an error. `COMMUTE_SEED` sets the seed.

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use stress::{Plant, c, jvm};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let began = Instant::now();
    let done = match arguments[..] {
        ["c", what] => of_c(what),
        ["jvm", library, what] => of_jvm(Path::new(library), what),
        _ => Err("usage: c OPERATIONS|PLANT, or jvm LIBRARY OPERATIONS|PLANT".to_owned()),
    };
    match done {
        Ok(done) => {
            println!("{done}, {:.0} s", began.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn of_c(what: &str) -> Result<String, String> {
    if let Some(plant) = plant(what) {
        c::plant(plant);
        return Ok(format!("C: {what} is planted"));
    }
    let operations = number(what)?;
    let counts = c::run(operations, seed()?);
    Ok(format!("C: {operations} operations, {counts:?}"))
}

fn of_jvm(library: &Path, what: &str) -> Result<String, String> {
    if let Some(plant) = plant(what) {
        jvm::plant(library, plant)?;
        return Ok(format!("JNI: {what} is planted"));
    }
    let operations = number(what)?;
    let counts = jvm::run(library, operations, seed()?)?;
    Ok(format!("JNI: {operations} operations, {counts:?}"))
}

fn plant(what: &str) -> Option<Plant> {
    match what {
        "use-after-free" => Some(Plant::UseAfterFree),
        "data-race" => Some(Plant::DataRace),
        "leak" => Some(Plant::Leak),
        _ => None,
    }
}

fn seed() -> Result<u64, String> {
    env::var("COMMUTE_SEED").map_or(Ok(1), |seed| number(&seed))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("\"{text}\" is not a number"))
}
