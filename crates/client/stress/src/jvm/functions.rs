//! The functions of JNI that the library calls. Any other aborts, and so does the use of a reference that is not one.

use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, LazyLock, Mutex};

use jni::sys::{
    JNI_EDETACHED, JNI_OK, JNI_VERSION_1_8, JNIEnv, JNIInvokeInterface_, JNINativeInterface_,
    JavaVM, jboolean, jclass, jint, jmethodID, jobject, jobjectRefType, jthrowable, jvalue,
};

use super::objects::{Object, Verdict, delete, lock, new_reference, object_of};
use super::thread::{attach, attached, detach, of, undisturbed};
use super::values;

/// The id of a method says what the method returns.
const RETURNS_OTHER: usize = 8;
const RETURNS_TEXT: usize = 16;
const RETURNS_ARRAY: usize = 24;

struct Tables {
    functions: JNINativeInterface_,
    invocation: JNIInvokeInterface_,
}

// SAFETY: tables of functions, which nobody changes.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    functions: functions(),
    invocation: invocation(),
});

/// The virtual machine, to which a `JavaVM` points.
struct Machine(*const JNIInvokeInterface_);

// SAFETY: it points to a table that nobody changes.
unsafe impl Send for Machine {}
// SAFETY: as above.
unsafe impl Sync for Machine {}

static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine(&raw const TABLES.invocation));

/// Attaches this thread to the mock JVM.
pub(super) fn attach_thread() -> *mut JNIEnv {
    attach(&raw const TABLES.functions)
}

fn functions() -> JNINativeInterface_ {
    const COUNT: usize = size_of::<JNINativeInterface_>() / size_of::<usize>();
    let missing = [missing as extern "system" fn(); COUNT];
    // SAFETY: the table has only pointers to functions, besides four that nobody uses.
    let mut table: JNINativeInterface_ = unsafe { mem::transmute(missing) };
    // SAFETY: all versions of the table begin alike.
    let known = unsafe { &mut table.v1_6 };
    known.GetVersion = get_version;
    known.FindClass = find_class;
    known.IsAssignableFrom = is_assignable_from;
    known.Throw = throw;
    known.ExceptionOccurred = exception_occurred;
    known.ExceptionDescribe = exception_describe;
    known.ExceptionClear = exception_clear;
    known.ExceptionCheck = exception_check;
    known.PushLocalFrame = push_local_frame;
    known.PopLocalFrame = pop_local_frame;
    known.NewGlobalRef = new_global_ref;
    known.DeleteGlobalRef = delete_global_ref;
    known.NewLocalRef = new_local_ref;
    known.DeleteLocalRef = delete_local_ref;
    known.GetObjectRefType = get_object_ref_type;
    known.IsSameObject = is_same_object;
    known.IsInstanceOf = is_instance_of;
    known.GetObjectClass = get_object_class;
    known.GetMethodID = get_method_id;
    known.GetStaticMethodID = get_method_id;
    known.NewObjectA = new_object;
    known.CallObjectMethodA = call_object_method;
    known.CallStaticObjectMethodA = call_object_method;
    known.CallBooleanMethodA = call_boolean_method;
    known.GetJavaVM = get_java_vm;
    known.NewStringUTF = values::new_string_utf;
    known.GetStringUTFChars = values::get_string_utf_chars;
    known.ReleaseStringUTFChars = values::release_string_utf_chars;
    known.GetArrayLength = values::get_array_length;
    known.NewObjectArray = values::new_object_array;
    known.GetObjectArrayElement = values::get_object_array_element;
    known.SetObjectArrayElement = values::set_object_array_element;
    known.NewByteArray = values::new_byte_array;
    known.GetByteArrayRegion = values::get_byte_array_region;
    known.SetByteArrayRegion = values::set_byte_array_region;
    known.NewLongArray = values::new_long_array;
    known.SetLongArrayRegion = values::set_long_array_region;
    table
}

fn invocation() -> JNIInvokeInterface_ {
    const COUNT: usize = size_of::<JNIInvokeInterface_>() / size_of::<usize>();
    let missing = [missing as extern "system" fn(); COUNT];
    // SAFETY: the table has only pointers to functions, besides three that nobody uses.
    let mut table: JNIInvokeInterface_ = unsafe { mem::transmute(missing) };
    // SAFETY: all versions of the table begin alike.
    let known = unsafe { &mut table.v1_4 };
    known.GetEnv = get_env;
    known.AttachCurrentThread = attach_current_thread;
    known.AttachCurrentThreadAsDaemon = attach_current_thread;
    known.DetachCurrentThread = detach_current_thread;
    table
}

extern "system" fn missing() {
    panic!("the mock JVM lacks a function that the library calls; RUST_BACKTRACE=1 shows where");
}

// Threads.

unsafe extern "system" fn get_env(_: *mut JavaVM, out: *mut *mut c_void, _: jint) -> jint {
    // SAFETY: the caller's pointer, here and in all functions below.
    unsafe { *out = attached().cast() };
    if attached().is_null() {
        JNI_EDETACHED
    } else {
        JNI_OK
    }
}

unsafe extern "system" fn attach_current_thread(
    _: *mut JavaVM,
    out: *mut *mut c_void,
    _: *mut c_void,
) -> jint {
    // SAFETY: see `get_env`.
    unsafe { *out = attach_thread().cast() };
    JNI_OK
}

unsafe extern "system" fn detach_current_thread(_: *mut JavaVM) -> jint {
    detach();
    JNI_OK
}

unsafe extern "system" fn get_java_vm(_: *mut JNIEnv, out: *mut *mut JavaVM) -> jint {
    // SAFETY: see `get_env`.
    unsafe { *out = (&raw const MACHINE.0).cast_mut() };
    JNI_OK
}

unsafe extern "system" fn get_version(_: *mut JNIEnv) -> jint {
    JNI_VERSION_1_8
}

// Exceptions.

unsafe extern "system" fn throw(env: *mut JNIEnv, exception: jthrowable) -> jint {
    // SAFETY: the caller's arguments, here and in all functions below.
    unsafe {
        assert!(object_of(exception).is_some(), "null is no exception");
        undisturbed(env).has_exception = true;
    }
    JNI_OK
}

unsafe extern "system" fn exception_check(env: *mut JNIEnv) -> jboolean {
    // SAFETY: see `throw`.
    unsafe { of(env).has_exception }
}

unsafe extern "system" fn exception_occurred(env: *mut JNIEnv) -> jthrowable {
    // SAFETY: see `throw`.
    let thread = unsafe { of(env) };
    let exception = thread.has_exception.then(|| Arc::new(Object::Opaque));
    thread.local(exception)
}

unsafe extern "system" fn exception_describe(env: *mut JNIEnv) {
    // SAFETY: see `throw`.
    unsafe { of(env).has_exception = false };
}

unsafe extern "system" fn exception_clear(env: *mut JNIEnv) {
    // SAFETY: see `throw`.
    unsafe { of(env).has_exception = false };
}

// References.

unsafe extern "system" fn push_local_frame(env: *mut JNIEnv, _: jint) -> jint {
    // SAFETY: see `throw`.
    unsafe { of(env).push_frame() };
    JNI_OK
}

unsafe extern "system" fn pop_local_frame(env: *mut JNIEnv, result: jobject) -> jobject {
    // SAFETY: see `throw`.
    let (thread, kept) = unsafe { (of(env), object_of(result)) };
    thread.pop_frame();
    thread.local(kept)
}

unsafe extern "system" fn new_global_ref(env: *mut JNIEnv, from: jobject) -> jobject {
    // SAFETY: see `throw`.
    let object = unsafe { (undisturbed(env), object_of(from)).1 };
    new_reference(object, true)
}

unsafe extern "system" fn delete_global_ref(env: *mut JNIEnv, reference: jobject) {
    // SAFETY: see `throw`.
    unsafe {
        of(env);
        if !reference.is_null() {
            delete(reference, true);
        }
    }
}

unsafe extern "system" fn new_local_ref(env: *mut JNIEnv, from: jobject) -> jobject {
    // SAFETY: see `throw`.
    unsafe { undisturbed(env).local(object_of(from)) }
}

unsafe extern "system" fn delete_local_ref(env: *mut JNIEnv, reference: jobject) {
    if !reference.is_null() {
        // SAFETY: see `throw`.
        unsafe { of(env).delete_local(reference) };
    }
}

unsafe extern "system" fn get_object_ref_type(_: *mut JNIEnv, _: jobject) -> jobjectRefType {
    jobjectRefType::JNILocalRefType
}

unsafe extern "system" fn is_same_object(_: *mut JNIEnv, one: jobject, two: jobject) -> jboolean {
    // SAFETY: see `throw`.
    match unsafe { (object_of(one), object_of(two)) } {
        (Some(one), Some(two)) => Arc::ptr_eq(&one, &two),
        (one, two) => one.is_none() && two.is_none(),
    }
}

// Classes and methods. Every object is of every class, and every class has every method.

unsafe extern "system" fn find_class(env: *mut JNIEnv, _: *const c_char) -> jclass {
    // SAFETY: see `throw`.
    unsafe { undisturbed(env).local(Some(Arc::new(Object::Opaque))) }
}

unsafe extern "system" fn get_object_class(env: *mut JNIEnv, _: jobject) -> jclass {
    // SAFETY: see `throw`.
    unsafe { undisturbed(env).local(Some(Arc::new(Object::Opaque))) }
}

unsafe extern "system" fn is_assignable_from(_: *mut JNIEnv, _: jclass, _: jclass) -> jboolean {
    true
}

unsafe extern "system" fn is_instance_of(_: *mut JNIEnv, _: jobject, _: jclass) -> jboolean {
    true
}

unsafe extern "system" fn get_method_id(
    _: *mut JNIEnv,
    _: jclass,
    _: *const c_char,
    signature: *const c_char,
) -> jmethodID {
    // SAFETY: see `throw`.
    let signature = unsafe { CStr::from_ptr(signature) }.to_bytes();
    let returns = |what: &[u8]| signature.windows(what.len()).any(|part| part == what);
    let method = match () {
        () if returns(b")[") => RETURNS_ARRAY,
        () if returns(b")Ljava/lang/String;") => RETURNS_TEXT,
        () => RETURNS_OTHER,
    };
    without_provenance_mut(method)
}

unsafe extern "system" fn new_object(
    env: *mut JNIEnv,
    _: jclass,
    _: jmethodID,
    _: *const jvalue,
) -> jobject {
    // SAFETY: see `throw`.
    unsafe { undisturbed(env).local(Some(Arc::new(Object::Opaque))) }
}

/// Returns what the method does, without an answer to what is asked: the library calls such methods for classes, and for
/// texts of exceptions.
unsafe extern "system" fn call_object_method(
    env: *mut JNIEnv,
    _: jobject,
    method: jmethodID,
    _: *const jvalue,
) -> jobject {
    let object = match method.addr() {
        RETURNS_ARRAY => Object::Array(Mutex::default()),
        RETURNS_TEXT => Object::Text(c"mock".into()),
        _ => Object::Opaque,
    };
    // SAFETY: see `throw`.
    unsafe { undisturbed(env).local(Some(Arc::new(object))) }
}

/// Answers as `TrustContext.accepts(byte[][], String)`: the library calls no other method that returns a boolean.
unsafe extern "system" fn call_boolean_method(
    env: *mut JNIEnv,
    context: jobject,
    _: jmethodID,
    arguments: *const jvalue,
) -> jboolean {
    // SAFETY: see `throw`; the method has two arguments.
    let (thread, context, chain, host) = unsafe {
        let (chain, host) = ((*arguments).l, (*arguments.add(1)).l);
        (
            undisturbed(env),
            object_of(context),
            object_of(chain),
            object_of(host),
        )
    };
    let Some(Object::Array(chain)) = chain.as_deref() else {
        panic!("the chain is no array");
    };
    for certificate in lock(chain).iter() {
        let Some(Object::Bytes(der)) = certificate.as_deref() else {
            panic!("a certificate is no array of bytes");
        };
        assert!(!lock(der).is_empty(), "a certificate is empty");
    }
    assert!(matches!(host.as_deref(), Some(Object::Text(host)) if !host.is_empty()));
    match context.as_deref() {
        Some(Object::Trust(Verdict::Accepts)) => true,
        Some(Object::Trust(Verdict::Refuses)) => false,
        Some(Object::Trust(Verdict::Throws)) => {
            thread.has_exception = true;
            false
        }
        _ => panic!("no TrustContext is called"),
    }
}
