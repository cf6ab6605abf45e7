//! Objects of the mock JVM, and references to them.

use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jni::sys::jobject;

/// An object. Types are not checked: where the library expects another one, the mock aborts.
pub(super) enum Object {
    /// A class, an exception, or another object that nobody looks into.
    Opaque,
    Text(CString),
    Bytes(Mutex<Vec<i8>>),
    Longs(Mutex<Vec<i64>>),
    Array(Mutex<Vec<Option<Arc<Self>>>>),
    /// A `TrustContext`.
    Trust(Verdict),
}

/// The answer of a `TrustContext`.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    Accepts,
    Refuses,
    Throws,
}

/// A reference is an allocation of its own, so that AddressSanitizer reports the use of one that was deleted, and
/// LeakSanitizer one that never was.
struct Reference {
    is_global: bool,
    object: Arc<Object>,
}

/// Creates a reference; null for no object.
pub(super) fn new_reference(object: Option<Arc<Object>>, is_global: bool) -> jobject {
    object.map_or(null_mut(), |object| {
        Box::into_raw(Box::new(Reference { is_global, object })).cast()
    })
}

/// Returns the object of a reference.
///
/// # Safety
///
/// The reference is null or was not deleted.
pub(super) unsafe fn object_of(reference: jobject) -> Option<Arc<Object>> {
    // SAFETY: as the caller promises.
    let reference = unsafe { reference.cast::<Reference>().as_ref() };
    reference.map(|reference| Arc::clone(&reference.object))
}

/// Deletes a reference.
///
/// # Safety
///
/// The reference was not deleted.
pub(super) unsafe fn delete(reference: jobject, is_global: bool) {
    // SAFETY: made by `new_reference`, and not deleted, as the caller promises.
    let reference = unsafe { Box::from_raw(reference.cast::<Reference>()) };
    assert_eq!(
        reference.is_global, is_global,
        "a local reference is not a global one"
    );
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
