//! The functions of the C interface.

#[cfg(test)]
mod tests;

mod copy_out;
// In the order of the header.
mod engine;

mod call;
mod event;

pub use call::*;
pub use engine::*;
pub use event::*;

/// The version of this interface. It changes with every function or struct that is added or changed.
pub const CM_ABI_VERSION: u32 = 4;

/// Returns the library's `CM_ABI_VERSION`. A binding compares it with its own before it calls anything else.
#[unsafe(no_mangle)]
pub extern "C" fn cm_abi_version() -> u32 {
    CM_ABI_VERSION
}
