//! Bytes for the caller's buffers.

use crate::abi::cm_status;

/// Copies bytes to the caller's buffer if they fit, and writes their number to `len`.
///
/// # Safety
///
/// `into` is null or points to `cap` bytes, `len` is null or points to a length.
pub(crate) unsafe fn copy_out(
    bytes: &[u8],
    into: *mut u8,
    cap: usize,
    len: *mut usize,
) -> cm_status {
    if !len.is_null() {
        // SAFETY: as the caller promises.
        unsafe { len.write(bytes.len()) };
    }
    if bytes.len() > cap {
        return cm_status::CM_E_ROOM;
    }
    if bytes.is_empty() {
        return cm_status::CM_OK;
    }
    if into.is_null() {
        return cm_status::CM_E_ARGUMENT;
    }
    // SAFETY: as the caller promises; what is copied is the library's own.
    unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    cm_status::CM_OK
}
