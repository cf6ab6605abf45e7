//! Drives quinn and h3 over HTTP/3.

fn main() -> std::process::ExitCode {
    engine::serve::<engine::stacks::quinn::Quinn>()
}
