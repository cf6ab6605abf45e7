//! The functions of JNI that read and write strings and arrays.

use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::{hint, mem};

use jni::sys::{
    JNIEnv, jarray, jboolean, jbyte, jbyteArray, jclass, jlong, jlongArray, jobject, jobjectArray,
    jsize, jstring,
};

use super::objects::{Object, lock, object_of};
use super::thread::{of, undisturbed};
use crate::Plant;

/// What is wrong with the next text that the library gets: nothing, or a [`Plant`].
static PLANT: AtomicU8 = AtomicU8::new(0);
const FREED: u8 = 1;
const RACED: u8 = 2;
const FORGOTTEN: u8 = 3;

/// The thread of a planted race.
static RACER: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Makes the next text that the library gets wrong.
pub(super) fn plant(plant: Plant) {
    let plant = match plant {
        Plant::UseAfterFree => FREED,
        Plant::DataRace => RACED,
        Plant::Leak => FORGOTTEN,
    };
    PLANT.store(plant, Ordering::Relaxed);
}

// Strings.

pub(super) unsafe extern "system" fn new_string_utf(
    env: *mut JNIEnv,
    bytes: *const c_char,
) -> jstring {
    // SAFETY: the caller's arguments.
    unsafe {
        let text = Object::Text(CStr::from_ptr(bytes).to_owned());
        undisturbed(env).local(Some(Arc::new(text)))
    }
}

/// Returns a copy, so that AddressSanitizer reports its use after the release.
pub(super) unsafe extern "system" fn get_string_utf_chars(
    env: *mut JNIEnv,
    string: jstring,
    is_copy: *mut jboolean,
) -> *const c_char {
    // SAFETY: the caller's arguments.
    let string = unsafe {
        undisturbed(env);
        if !is_copy.is_null() {
            *is_copy = true;
        }
        object_of(string)
    };
    let Some(Object::Text(text)) = string.as_deref() else {
        panic!("no string is read");
    };
    let copy = text.clone().into_raw();
    match PLANT.swap(0, Ordering::Relaxed) {
        // SAFETY: none: the library reads what is freed here, which is the error that is planted.
        FREED => unsafe { drop(CString::from_raw(copy)) },
        RACED => {
            let at = copy as usize;
            // SAFETY: none: the library reads what is written here, which is the error that is planted.
            let racer = thread::spawn(move || unsafe { *(at as *mut c_char) = 1 });
            lock(&RACER).replace(racer);
        }
        FORGOTTEN => mem::forget(hint::black_box(text.clone())),
        _ => {}
    }
    copy
}

pub(super) unsafe extern "system" fn release_string_utf_chars(
    env: *mut JNIEnv,
    _: jstring,
    chars: *const c_char,
) {
    if let Some(racer) = lock(&RACER).take() {
        racer.join().expect("it only writes");
    }
    // SAFETY: made by `get_string_utf_chars`.
    unsafe {
        of(env);
        drop(CString::from_raw(chars.cast_mut()));
    }
}

// Arrays.

pub(super) unsafe extern "system" fn get_array_length(env: *mut JNIEnv, array: jarray) -> jsize {
    // SAFETY: the caller's arguments.
    let array = unsafe { (undisturbed(env), object_of(array)).1 };
    let length = match array.as_deref() {
        Some(Object::Bytes(bytes)) => lock(bytes).len(),
        Some(Object::Longs(longs)) => lock(longs).len(),
        Some(Object::Array(objects)) => lock(objects).len(),
        _ => panic!("no array is measured"),
    };
    jsize::try_from(length).expect("arrays are short")
}

pub(super) unsafe extern "system" fn new_object_array(
    env: *mut JNIEnv,
    length: jsize,
    _: jclass,
    initial: jobject,
) -> jobjectArray {
    // SAFETY: the caller's arguments.
    let (thread, initial) = unsafe { (undisturbed(env), object_of(initial)) };
    let objects = vec![initial; usize::try_from(length).expect("a length is not negative")];
    thread.local(Some(Arc::new(Object::Array(Mutex::new(objects)))))
}

pub(super) unsafe extern "system" fn get_object_array_element(
    env: *mut JNIEnv,
    array: jobjectArray,
    index: jsize,
) -> jobject {
    // SAFETY: the caller's arguments.
    let (thread, array) = unsafe { (undisturbed(env), object_of(array)) };
    let Some(Object::Array(objects)) = array.as_deref() else {
        panic!("no array of objects is read");
    };
    let objects = lock(objects);
    let found = region(index, 1, objects.len()).map(|at| objects[at.start].clone());
    thread.has_exception = found.is_none();
    thread.local(found.flatten())
}

pub(super) unsafe extern "system" fn set_object_array_element(
    env: *mut JNIEnv,
    array: jobjectArray,
    index: jsize,
    element: jobject,
) {
    // SAFETY: the caller's arguments.
    let (thread, array, element) =
        unsafe { (undisturbed(env), object_of(array), object_of(element)) };
    let Some(Object::Array(objects)) = array.as_deref() else {
        panic!("no array of objects is written");
    };
    let mut objects = lock(objects);
    match region(index, 1, objects.len()) {
        Some(at) => objects[at.start] = element,
        None => thread.has_exception = true,
    }
}

pub(super) unsafe extern "system" fn new_byte_array(env: *mut JNIEnv, length: jsize) -> jbyteArray {
    let bytes = vec![0; usize::try_from(length).expect("a length is not negative")];
    // SAFETY: the caller's arguments.
    unsafe { undisturbed(env).local(Some(Arc::new(Object::Bytes(Mutex::new(bytes))))) }
}

pub(super) unsafe extern "system" fn get_byte_array_region(
    env: *mut JNIEnv,
    array: jbyteArray,
    start: jsize,
    length: jsize,
    into: *mut jbyte,
) {
    // SAFETY: the caller's arguments.
    let (thread, array) = unsafe { (undisturbed(env), object_of(array)) };
    let Some(Object::Bytes(bytes)) = array.as_deref() else {
        panic!("no array of bytes is read");
    };
    let bytes = lock(bytes);
    match region(start, length, bytes.len()) {
        // SAFETY: the caller has room for so many.
        Some(at) => unsafe { into.copy_from_nonoverlapping(bytes[at.clone()].as_ptr(), at.len()) },
        None => thread.has_exception = true,
    }
}

pub(super) unsafe extern "system" fn set_byte_array_region(
    env: *mut JNIEnv,
    array: jbyteArray,
    start: jsize,
    length: jsize,
    from: *const jbyte,
) {
    // SAFETY: the caller's arguments.
    let (thread, array) = unsafe { (undisturbed(env), object_of(array)) };
    let Some(Object::Bytes(bytes)) = array.as_deref() else {
        panic!("no array of bytes is written");
    };
    let mut bytes = lock(bytes);
    match region(start, length, bytes.len()) {
        // SAFETY: the caller has so many.
        Some(at) => unsafe {
            let into = bytes[at.clone()].as_mut_ptr();
            into.copy_from_nonoverlapping(from, at.len());
        },
        None => thread.has_exception = true,
    }
}

pub(super) unsafe extern "system" fn new_long_array(env: *mut JNIEnv, length: jsize) -> jlongArray {
    let longs = vec![0; usize::try_from(length).expect("a length is not negative")];
    // SAFETY: the caller's arguments.
    unsafe { undisturbed(env).local(Some(Arc::new(Object::Longs(Mutex::new(longs))))) }
}

pub(super) unsafe extern "system" fn set_long_array_region(
    env: *mut JNIEnv,
    array: jlongArray,
    start: jsize,
    length: jsize,
    from: *const jlong,
) {
    // SAFETY: the caller's arguments.
    let (thread, array) = unsafe { (undisturbed(env), object_of(array)) };
    let Some(Object::Longs(longs)) = array.as_deref() else {
        panic!("no array of longs is written");
    };
    let mut longs = lock(longs);
    match region(start, length, longs.len()) {
        // SAFETY: the caller has so many.
        Some(at) => unsafe {
            let into = longs[at.clone()].as_mut_ptr();
            into.copy_from_nonoverlapping(from, at.len());
        },
        None => thread.has_exception = true,
    }
}

/// Returns the indices of a region of an array; none if the array is shorter.
fn region(start: jsize, length: jsize, of: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    (end <= of).then_some(start..end)
}
