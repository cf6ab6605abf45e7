//! The driver of commute's own client: HTTP/2, HTTP/3, or whichever it takes.

fn main() -> std::process::ExitCode {
    engine::serve::serve::<engine::stacks::client::Client>()
}
