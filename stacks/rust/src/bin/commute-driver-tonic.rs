//! Drives tonic: gRPC over HTTP/2.

fn main() -> std::process::ExitCode {
    engine::serve::<engine::stacks::tonic::Tonic>()
}
