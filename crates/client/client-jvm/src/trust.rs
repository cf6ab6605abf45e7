//! The app's own check of certificates, called in the JVM.

use std::fmt;

use client::CheckChain;
use jni::objects::{JByteArray, JObject, JObjectArray, JValue};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};

/// An object of the class `TrustContext`.
pub(crate) struct JavaTrust {
    vm: JavaVM,
    context: Global<JObject<'static>>,
}

impl JavaTrust {
    pub(crate) fn new(env: &mut Env<'_>, context: &JObject<'_>) -> jni::errors::Result<Self> {
        Ok(Self {
            vm: env.get_java_vm()?,
            context: env.new_global_ref(context)?,
        })
    }

    fn ask(&self, env: &mut Env<'_>, chain: &[&[u8]], host: &str) -> jni::errors::Result<bool> {
        let host = env.new_string(host)?;
        let array = JObjectArray::<JByteArray>::new(env, chain.len(), JByteArray::null())?;
        for (index, certificate) in chain.iter().enumerate() {
            let bytes = env.byte_array_from_slice(certificate)?;
            array.set_element(env, index, &bytes)?;
            env.delete_local_ref(bytes);
        }
        let (array, host) = (JValue::from(&array), JValue::from(&host));
        let (name, signature) = (jni_str!("accepts"), jni_sig!("([[BLjava/lang/String;)Z"));
        env.call_method(&self.context, name, signature, &[array, host])?
            .z()
    }
}

impl CheckChain for JavaTrust {
    fn accepts(&self, chain: &[&[u8]], host: &str) -> bool {
        // The engine's thread belongs to the JVM only for as long as it is asked, so that it does
        // not keep the JVM from exiting. What fails, and what throws, accepts nothing.
        let asked = self
            .vm
            .attach_current_thread_for_scope(|env| self.ask(env, chain, host));
        asked.unwrap_or(false)
    }
}

impl fmt::Debug for JavaTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JavaTrust(..)")
    }
}
