//! The JNI library, loaded as a JVM does.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

use jni::sys::{JNIEnv, jboolean, jclass, jint, jlong, jobject};

/// Declares the native methods of `commute.client.Native` and looks them up by their names.
macro_rules! methods {
    ($($name:ident = $symbol:literal ($($argument:ty),*) -> $returned:ty;)*) => {
        /// The native methods of `commute.client.Native`.
        pub(super) struct Library {
            $(pub(super) $name:
                unsafe extern "system" fn(*mut JNIEnv, jclass, $($argument),*) -> $returned,)*
        }

        impl Library {
            /// Loads the library, which stays loaded.
            pub(super) fn load(path: &Path) -> Result<Self, String> {
                let library = open(path)?;
                Ok(Self {
                    $($name: {
                        let method = symbol(library, concat!("Java_commute_client_Native_", $symbol))?;
                        // SAFETY: the method has these arguments in Native.java, too.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "system" fn(
                            *mut JNIEnv, jclass, $($argument),*) -> $returned>(method) }
                    },)*
                })
            }
        }
    };
}

methods! {
    version = "version"() -> jobject;
    start_engine = "startEngine"(jobject, jobject, jobject, jobject, jobject) -> jlong;
    end_engine = "endEngine"(jlong) -> ();
    set_switches = "setSwitches"(jlong, jint, jint, jboolean) -> ();
    set_network = "setNetwork"(jlong, jobject, jboolean, jint) -> ();
    https_record = "httpsRecord"(jlong, jobject, jint, jobject) -> ();
    metrics_csv = "metricsCsv"(jlong, jboolean) -> jobject;
    save = "save"(jlong) -> ();
    worked_without = "workedWithout"(jlong) -> ();
    open = "open"(jlong, jobject, jint, jint) -> jlong;
    set_options = "setOptions"(jlong, jint, jboolean, jint) -> ();
    connect = "connect"(jlong) -> jint;
    read = "read"(jlong, jobject, jint, jint, jint) -> jint;
    write = "write"(jlong, jobject, jint, jint) -> jint;
    close = "close"(jlong) -> ();
    facts = "facts"(jlong) -> jobject;
    why = "why"(jlong) -> jobject;
    why_ended = "whyEnded"(jlong) -> jobject;
}

fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the name ends with 0, and the library's initializers may run at any time.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(why());
    }
    Ok(library)
}

fn symbol(library: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    let name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: the library is loaded, and the name ends with 0.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    if symbol.is_null() {
        return Err(why());
    }
    Ok(symbol)
}

/// Returns why the last call of the dynamic linker failed.
fn why() -> String {
    // SAFETY: null, or a text that stays until this thread calls the dynamic linker again.
    let message = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
    message.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
}
