//! The native methods of `commute.client.Native`.

#[macro_use]
mod method;
mod engine;
mod origin;
mod socket;

use jni::objects::JString;

native! {
    /// Returns the version that the Java half must have, too.
    fn Java_commute_client_Native_version(env) -> JString<'a> {
        Ok(env.new_string(env!("CARGO_PKG_VERSION"))?)
    }
}
