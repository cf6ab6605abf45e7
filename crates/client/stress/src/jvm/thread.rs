//! A thread that is attached to the mock JVM: its local references and its exception.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::ThreadId;

use jni::sys::{JNIEnv, JNINativeInterface_, jobject};

use super::objects::{Object, delete, new_reference};

thread_local! {
    static ATTACHED: Cell<*mut AttachedThread> = const { Cell::new(null_mut()) };
}

/// A thread that is attached. A `JNIEnv` points to it.
#[repr(C)]
pub(super) struct AttachedThread {
    functions: *const JNINativeInterface_,
    thread: ThreadId,
    /// Local references by frame.
    frames: Vec<Vec<jobject>>,
    pub(super) has_exception: bool,
}

/// Attaches this thread, unless it is.
pub(super) fn attach(functions: *const JNINativeInterface_) -> *mut JNIEnv {
    let mut attached = ATTACHED.get();
    if attached.is_null() {
        attached = Box::into_raw(Box::new(AttachedThread {
            functions,
            thread: std::thread::current().id(),
            frames: vec![Vec::new()],
            has_exception: false,
        }));
        ATTACHED.set(attached);
    }
    attached.cast()
}

/// Returns this thread's `JNIEnv`; null if it is not attached.
pub(super) fn attached() -> *mut JNIEnv {
    ATTACHED.get().cast()
}

/// Detaches this thread and deletes its local references.
pub(super) fn detach() {
    let attached = ATTACHED.replace(null_mut());
    assert!(!attached.is_null(), "the thread is not attached");
    // SAFETY: made by `attach`, and nobody else has it any more.
    let mut attached = unsafe { Box::from_raw(attached) };
    while !attached.frames.is_empty() {
        attached.pop_frame();
    }
}

/// Returns the thread of a `JNIEnv`, which must be this one.
///
/// # Safety
///
/// The `JNIEnv` is that of a thread that was not detached.
pub(super) unsafe fn of<'a>(env: *mut JNIEnv) -> &'a mut AttachedThread {
    // SAFETY: as the caller promises; only its thread uses it, which is checked.
    let attached = unsafe { &mut *env.cast::<AttachedThread>() };
    assert_eq!(
        attached.thread,
        std::thread::current().id(),
        "a JNIEnv belongs to one thread"
    );
    attached
}

/// Returns the thread of a `JNIEnv`, which has no exception: with one, most functions may not be called.
///
/// # Safety
///
/// As of [`of`].
pub(super) unsafe fn undisturbed<'a>(env: *mut JNIEnv) -> &'a mut AttachedThread {
    // SAFETY: as the caller promises.
    let thread = unsafe { of(env) };
    assert!(!thread.has_exception, "called with an exception pending");
    thread
}

impl AttachedThread {
    /// Creates a local reference; null for no object.
    pub(super) fn local(&mut self, object: Option<Arc<Object>>) -> jobject {
        let reference = new_reference(object, false);
        if !reference.is_null() {
            let frame = self.frames.last_mut();
            frame.expect("a frame is open").push(reference);
        }
        reference
    }

    pub(super) fn delete_local(&mut self, reference: jobject) {
        let found = self.frames.iter_mut().rev().find_map(|frame| {
            let at = frame.iter().position(|known| *known == reference)?;
            Some(frame.swap_remove(at))
        });
        assert!(found.is_some(), "no local reference of this thread");
        // SAFETY: it was in a frame, so it was not deleted.
        unsafe { delete(reference, false) };
    }

    pub(super) fn push_frame(&mut self) {
        self.frames.push(Vec::new());
    }

    /// Deletes the references of the last frame.
    pub(super) fn pop_frame(&mut self) {
        for reference in self.frames.pop().expect("a frame is open") {
            // SAFETY: it was in a frame, so it was not deleted.
            unsafe { delete(reference, false) };
        }
    }
}
