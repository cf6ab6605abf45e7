use std::time::Duration;

/// How long an input may wait in vain. The fuzzer runs as many inputs as it can. A test has few, and on a busy machine a
/// response takes longer.
const WAIT: Duration = Duration::from_millis(if cfg!(fuzzing) { 4 } else { 200 });

/// Calls the client's C interface in any sequence, from several threads at once, with ids that are live, stale, foreign
/// or made up. A server answers some of the requests. Nothing may crash, hang, or touch memory that is not its own.
pub fn c_abi(data: &[u8]) {
    stress::c::run_input(data, WAIT);
}
