//! The driver of quinn and h3: HTTP/3.

fn main() -> std::process::ExitCode {
    engine::serve::serve::<engine::stacks::quinn::Quinn>()
}
