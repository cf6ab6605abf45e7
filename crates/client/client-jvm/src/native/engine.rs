//! The native methods of engines.

use std::sync::{Arc, mpsc};

use client::{Arms, Engine, Identity, Network, NetworkId, NetworkKind, Switches, Trust};
use jni::objects::{JByteArray, JObject, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong};

use crate::handles::Handles;
use crate::memory_folders::MemoryFolders;
use crate::native::method::Failure;
use crate::native::origin::origin;
use crate::trust::JavaTrust;

pub(super) static ENGINES: Handles<Engine> = Handles::new();
/// An engine drops its trust when it ends, after it has written its memory.
static MEMORY_FOLDERS: MemoryFolders<JavaTrust> = MemoryFolders::new();

native! {
    /// Starts an engine. It keeps no memory if another one does in the same folder.
    fn Java_commute_client_Native_startEngine(
        env,
        trust: JObject<'a>,
        hints: JObjectArray<'a, JString<'a>>,
        memory: JString<'a>,
        chain_pem: JByteArray<'a>,
        key_pem: JByteArray<'a>,
    ) -> jlong {
        let trust = Arc::new(JavaTrust::new(env, &trust)?);
        let mut builder = Engine::builder().trust(Trust::App(Arc::clone(&trust) as _));
        for index in 0..hints.len(env)? {
            let hint = hints.get_element(env, index)?;
            builder = builder.hint_h3(&hint.try_to_string(env)?);
        }
        if !memory.is_null() {
            let folder = memory.try_to_string(env)?;
            if MEMORY_FOLDERS.claim(&folder, &trust) {
                builder = builder.memory(folder);
            }
        }
        if !chain_pem.is_null() {
            builder = builder.identity(Identity {
                chain_pem: env.convert_byte_array(&chain_pem)?,
                key_pem: env.convert_byte_array(&key_pem)?,
            });
        }
        let engine = builder
            .build()
            .map_err(|error| Failure(error.to_string()))?;
        Ok(ENGINES.add(engine))
    }
}

native! {
    /// Ends an engine: now, or when the last request under way has ended.
    fn Java_commute_client_Native_endEngine(_, engine: jlong) {
        ENGINES.remove(engine);
        Ok(())
    }
}

native! {
    /// Sets what the app allows.
    fn Java_commute_client_Native_setSwitches(
        _,
        engine: jlong,
        generation: jint,
        h3_percent: jint,
        explore: jboolean,
    ) {
        if let Some(engine) = ENGINES.get(engine) {
            engine.switches(Switches {
                generation: u32::try_from(generation).unwrap_or(0),
                h3_percent: u8::try_from(h3_percent).unwrap_or(100).min(100),
                explore,
                ..Switches::default()
            });
        }
        Ok(())
    }
}

native! {
    /// Reports a change of the default network; without an id there is none. `kind` is the number of Java's constant.
    fn Java_commute_client_Native_setNetwork(
        env,
        engine: jlong,
        id: JByteArray<'a>,
        metered: jboolean,
        kind: jint,
    ) {
        let Some(engine) = ENGINES.get(engine) else {
            return Ok(());
        };
        if id.is_null() {
            engine.network(None);
            return Ok(());
        }
        let id = env.convert_byte_array(&id)?;
        let bytes = id.try_into().map_err(|id: Vec<u8>| {
            Failure(format!("a network's id has 16 bytes, not {}", id.len()))
        })?;
        let id = NetworkId(bytes);
        let kind = match kind {
            1 => NetworkKind::Wifi,
            2 => NetworkKind::Cellular,
            3 => NetworkKind::Ethernet,
            _ => NetworkKind::Other,
        };
        engine.network(Some(Network { id, kind, metered }));
        Ok(())
    }
}

native! {
    /// Reports a resolver's answer for the HTTPS record of an origin; without an answer, that it was asked for.
    fn Java_commute_client_Native_httpsRecord(
        env,
        engine: jlong,
        host: JString<'a>,
        port: jint,
        answer: JByteArray<'a>,
    ) {
        let Some(engine) = ENGINES.get(engine) else {
            return Ok(());
        };
        let host = host.try_to_string(env)?;
        let port = u16::try_from(port).map_err(|_| Failure(format!("no port: {port}")))?;
        let url = origin(&host, port);
        let told = if answer.is_null() {
            engine.expect_https_record(&url)
        } else {
            let answer = env.convert_byte_array(&answer)?;
            engine.https_record(&url, &answer).map(drop)
        };
        // A host that the engine refuses falls back when its socket is opened.
        told.ok();
        Ok(())
    }
}

native! {
    /// Returns the measurements of an engine's last requests, as CSV with a header.
    fn Java_commute_client_Native_metricsCsv(
        env,
        engine: jlong,
        of_rollout: jboolean,
    ) -> JString<'a> {
        let arms = match of_rollout {
            true => Arms::Rollout,
            false => Arms::Protocols,
        };
        let csv = ENGINES.get(engine).map(|engine| engine.metrics().csv(arms));
        Ok(env.new_string(csv.unwrap_or_default())?)
    }
}

native! {
    /// Writes what an engine has learnt, and waits for that.
    fn Java_commute_client_Native_save(_, engine: jlong) {
        if let Some(engine) = ENGINES.get(engine) {
            let (running, ended) = mpsc::channel::<()>();
            let saving = Arc::clone(&engine);
            engine.spawn(async move {
                saving.save().await;
                drop(running);
            });
            // Nothing is sent: it ends with the task, however that ends.
            ended.recv().ok();
        }
        Ok(())
    }
}

native! {
    /// Reports that a request which failed in the engine succeeded in the app's own client.
    fn Java_commute_client_Native_workedWithout(_, engine: jlong) {
        if let Some(engine) = ENGINES.get(engine) {
            engine.fallback_succeeded();
        }
        Ok(())
    }
}
