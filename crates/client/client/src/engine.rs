//! The engine that an app holds, and its builder.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use http::Method;
use route::{Network, Policy, Switches};
use tokio::sync::{mpsc, oneshot};

use crate::actor::Actor;
use crate::error::{BuildError, Error};
use crate::https_records::h3_in;
use crate::mailbox::Mailbox;
use crate::memory::MemoryFile;
use crate::message::Message;
use crate::metrics::{Metrics, SharedMetrics};
use crate::origin::origin_of;
use crate::report::Connected;
use crate::request::Request;
use crate::resolver::Resolver;
use crate::tls::{Identity, Tls, Trust};

/// Sends requests by the fastest route. Cheap to clone; the clones are one engine, which ends
/// with the last of them.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    mailbox: Mailbox,
    policy: Policy,
    metrics: SharedMetrics,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Builds an engine.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    policy: Policy,
    /// URLs of origins that support HTTP/3, with the port if it is not that of the URL.
    hints: Vec<(String, Option<u16>)>,
    memory: Option<PathBuf>,
    trust: Trust,
    identity: Option<Identity>,
    resolver: Resolver,
    early_data: bool,
}

impl Engine {
    /// Creates a builder with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a request, e.g. `engine.request(Method::GET, "https://api.example/v1/list")`.
    pub fn request(&self, method: Method, url: &str) -> Request {
        Request::new(self.inner.mailbox.clone(), method, url, self.inner.policy)
    }

    /// Creates a GET request.
    pub fn get(&self, url: &str) -> Request {
        self.request(Method::GET, url)
    }

    /// Opens a connection to the origin of a URL, by the fastest route and the engine's policy, or finds one that is
    /// open. So the next request need not wait for one. Dropping the future cancels the connection. If none can be
    /// opened, the error says why, as a request's would.
    pub fn connect(
        &self,
        url: &str,
    ) -> impl Future<Output = Result<Connected, Error>> + Send + use<> {
        let origin = origin_of(url);
        // Not the engine, which would not end before the future.
        let (mailbox, policy) = (self.inner.mailbox.clone(), self.inner.policy);
        async move {
            let (origin, _) = origin.map_err(Error::Invalid)?;
            mailbox.connect(origin, policy).await
        }
    }

    /// Reports a change of the default network, or that there is none.
    pub fn network(&self, network: Option<Network>) {
        self.send(Message::Network(network));
    }

    /// Sets what the app allows. Older generations do not replace newer ones.
    pub fn switches(&self, switches: Switches) {
        self.send(Message::Switches(switches));
    }

    /// Reports that a request which failed in the engine succeeded in the app's own client. If that happens often, the
    /// engine turns itself off.
    pub fn fallback_succeeded(&self) {
        self.send(Message::FallbackSucceeded);
    }

    /// Reports that the app has asked its resolver for the HTTPS record (RFC 9460) of this URL's origin. Requests that
    /// look the origin up within a second wait for [`Engine::https_record`], at most 50 ms longer than for addresses.
    /// None waits if it must not use HTTP/3, or if HTTP/3 is known to be offered.
    pub fn expect_https_record(&self, url: &str) -> Result<(), Error> {
        let (origin, _) = origin_of(url).map_err(Error::Invalid)?;
        // An address has no record.
        if origin.host.parse::<IpAddr>().is_err() {
            self.send(Message::RecordExpected(origin));
        }
        Ok(())
    }

    /// Reports a resolver's answer for the HTTPS record (RFC 9460) of a URL's origin: the whole DNS message. The type to
    /// ask for is 65, the name is the host, with `_8443._https.` before it if the port is 8443. An answer may come at
    /// any time. If it offers HTTP/3, the offer counts for as long as the record holds, and 1 s at least. Returns whether
    /// it does. An answer offers nothing if it is malformed, is for another name or leads to one.
    pub fn https_record(&self, url: &str, answer: &[u8]) -> Result<bool, Error> {
        let (origin, _) = origin_of(url).map_err(Error::Invalid)?;
        let record = h3_in(answer, &origin.host, origin.port).flatten();
        self.send(Message::HttpsRecord(origin, record));
        Ok(record.is_some())
    }

    /// Closes all connections. Requests on them that may be sent again are, on new ones; others fail. TLS sessions
    /// are kept, and what was learnt is, too.
    pub async fn disconnect(&self) {
        let (done, ended) = oneshot::channel();
        self.send(Message::Disconnect(done));
        // An engine that has ended has no connections.
        ended.await.ok();
    }

    /// Closes the connections that carry no request.
    pub fn close_idle(&self) {
        self.send(Message::CloseIdle);
    }

    /// Forgets all TLS sessions, so that the next connections begin with full handshakes.
    pub fn forget_sessions(&self) {
        self.send(Message::ForgetSessions);
    }

    /// Writes what was learnt to its folder now, e.g. when the app goes to the background and the system may
    /// end it there. Without this it is written once the first request has ended, at most every 30 s after
    /// that, and when the engine ends.
    pub async fn save(&self) {
        let (done, saved) = oneshot::channel();
        self.send(Message::Save(done));
        // An engine that has ended has saved it.
        saved.await.ok();
    }

    /// Returns the measurements of the last requests, at most 1,024. One whose body has just been read may
    /// come a moment later.
    pub fn metrics(&self) -> Metrics {
        self.inner.metrics.get()
    }

    /// Returns a text that describes what is known of the origin of a URL, and which route a request would take.
    pub async fn explain(&self, url: &str) -> String {
        let (reply, answer) = oneshot::channel();
        match origin_of(url) {
            Ok((origin, _)) => self.send(Message::Explain(origin, reply)),
            Err(error) => return error,
        }
        answer
            .await
            .unwrap_or_else(|_| "the engine has ended".to_owned())
    }

    /// Runs a future on the engine's thread, for bindings that would need a runtime of their own.
    /// It must not block, and is dropped when the engine ends.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.send(Message::Run(Box::pin(task)));
    }

    fn send(&self, message: Message) {
        self.inner.mailbox.send(message);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.mailbox.send(Message::End);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            thread.join().ok();
        }
    }
}

impl Builder {
    /// Sets how requests are routed, unless they say otherwise.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Declares that this origin supports HTTP/3 on the port of its URLs: `https://api.example`. A hint that is wrong
    /// costs the first request 10 ms, or a second where the server accepts QUIC and then falls silent.
    pub fn hint_h3(mut self, url: &str) -> Self {
        self.hints.push((url.to_owned(), None));
        self
    }

    /// Declares that this origin supports HTTP/3 on this port.
    pub fn hint_h3_on(mut self, url: &str, port: u16) -> Self {
        self.hints.push((url.to_owned(), Some(port)));
        self
    }

    /// Lets requests be sent before the handshake is done (0-RTT), where a session of this engine is resumed over QUIC:
    /// GET, HEAD and OPTIONS without a body. That saves a round trip on the first request after a pause. An attacker on
    /// the path may replay such a request (RFC 8470), so it should do no harm if the server gets it twice. A server
    /// that minds answers 425, and gets the request after the handshake. Not with [`Trust::App`], which is asked after
    /// the handshake.
    pub fn early_data(mut self, early_data: bool) -> Self {
        self.early_data = early_data;
        self
    }

    /// Keeps what is learnt in this folder, so that the next process knows it.
    pub fn memory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.memory = Some(folder.into());
        self
    }

    /// Sets whose certificates are accepted.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Shows this certificate to servers that ask for one.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Uses these addresses for a name instead of looking it up.
    pub fn resolve(mut self, name: &str, addresses: Vec<IpAddr>) -> Self {
        let name = name.to_ascii_lowercase();
        self.resolver.known.push((name, addresses));
        self
    }

    /// Asks these name servers for HTTPS records (RFC 9460), which say whether a server supports HTTP/3, and on which
    /// port. The query goes over UDP beside that for addresses, which waits at most 50 ms for the answer, and only if
    /// nothing said so before. Records that lead to another name are ignored.
    #[cfg(feature = "https-records")]
    pub fn https_records(mut self, name_servers: Vec<std::net::SocketAddr>) -> Self {
        self.resolver.servers = name_servers.into();
        self
    }

    /// Makes the engine and starts its thread.
    pub fn build(self) -> Result<Engine, BuildError> {
        let tls = Tls::new(&self.trust, self.identity.as_ref())?;
        let hint = |(url, port): &(String, Option<u16>)| {
            let (origin, _) = origin_of(url).map_err(BuildError::Hint)?;
            let port = port.unwrap_or(origin.port);
            Ok((origin, port))
        };
        let hints: Vec<_> = self
            .hints
            .iter()
            .map(hint)
            .collect::<Result<_, BuildError>>()?;
        let memory = self.memory.map(MemoryFile::new);
        let (messages, inbox) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let salt = crate::memory::random()?;
        let metrics = SharedMetrics::default();
        let told = metrics.clone();
        let actor = Actor::new(messages.clone(), tls, memory, salt, self.resolver, told);
        let thread = std::thread::Builder::new()
            .name("commute".to_owned())
            .spawn(move || {
                // A panic ends the engine and no more: every request notices that it has ended.
                let run = AssertUnwindSafe(|| runtime.block_on(actor.run(inbox, hints)));
                std::panic::catch_unwind(run).ok();
                // Dropping the engine must not wait for a name server.
                runtime.shutdown_background();
            })?;
        let thread = Mutex::new(Some(thread));
        let inner = Inner {
            mailbox: Mailbox::new(messages, self.early_data),
            policy: self.policy,
            metrics,
            thread,
        };
        Ok(Engine {
            inner: Arc::new(inner),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_that_is_no_url_is_refused() {
        let engine = Engine::builder().hint_h3("api.example").build();
        let error = engine.err().expect("it is no URL").to_string();
        assert_eq!(
            error,
            "hint: \"api.example\" is not an https URL like \"https://api.example/path\""
        );
    }
}
