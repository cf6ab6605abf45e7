//! The driver of hyper: HTTP/1.1 and HTTP/2.

fn main() -> std::process::ExitCode {
    engine::serve::serve::<engine::stacks::hyper::Hyper>()
}
