//! The driver of tonic: gRPC over HTTP/2.

fn main() -> std::process::ExitCode {
    engine::serve::serve::<engine::stacks::tonic::Tonic>()
}
