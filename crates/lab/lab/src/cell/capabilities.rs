//! Checks that a driver's `hello` offers what an arm and its workload need.

use driver::protocol::{Action, Capability, Clock, Codec, Hello, Reconnect, Step};
use study::plan::{Workload, encoded_message};
use study::{Arm, AuthScheme, Security};

/// How an arm takes part whose stack has no further origins.
const ONE_ORIGIN: &str = " (an arm with `origins = \"one\"` sends all requests to one)";

/// Returns what the driver lacks for the arm's workload, each as the reason of an unsupported cell.
pub(crate) fn missing_capabilities(hello: &Hello, arm: &Arm, workload: &Workload) -> Vec<String> {
    let any = |test: fn(&Step) -> bool| workload.steps.iter().any(test);
    let reconnects = |mode: Reconnect| {
        let mut steps = workload.steps.iter();
        steps.any(|step| step.action == Action::Reconnect { mode })
    };
    let needs = [
        (
            arm.security == Security::Mtls,
            Capability::Mtls,
            "client certificates",
        ),
        (
            arm.security == Security::None,
            Capability::Plaintext,
            "plaintext",
        ),
        (
            arm.auth == Some(AuthScheme::Jwt),
            Capability::Jwt,
            "auth jwt",
        ),
        (
            arm.auth == Some(AuthScheme::Hmac),
            Capability::Hmac,
            "auth hmac",
        ),
        (
            reconnects(Reconnect::Resume),
            Capability::Resume,
            "resume a session",
        ),
        (
            reconnects(Reconnect::EarlyData),
            Capability::EarlyData,
            "early data",
        ),
        (
            any(|step| matches!(step.action, Action::Stream { .. })),
            Capability::Stream,
            "a stream of messages",
        ),
        (
            any(|step| matches!(step.action, Action::Submit { .. })),
            Capability::Submit,
            "submit a message",
        ),
        (
            any(|step| matches!(step.action, Action::Fetch { .. })),
            Capability::Fetch,
            "a request of the study's own",
        ),
        (
            any(|step| step.until.is_some()),
            Capability::Until,
            "stop at a time",
        ),
        (
            any(|step| step.origin.is_some()),
            Capability::Origins,
            "several origins",
        ),
        (
            any(|step| step.cancel_after_ns.is_some()),
            Capability::Cancel,
            "cancel a request",
        ),
        (arm.observe.is_some(), Capability::Observe, "observe"),
        (arm.policy.is_some(), Capability::Policy, "policy"),
        (
            arm.discovery.is_some(),
            Capability::AltSvc,
            "discover HTTP/3 by Alt-Svc",
        ),
    ];
    let missing = (needs.iter())
        .filter(|(needed, capability, _)| *needed && !hello.capabilities.contains(capability))
        .map(|(_, capability, what)| {
            let remedy = match capability {
                Capability::Origins => ONE_ORIGIN,
                _ => "",
            };
            format!("{what}: {} does not offer it{remedy}", hello.stack)
        });
    let restart = (hello.clock == Clock::Own && !workload.restarts.is_empty()).then(|| {
        "restart: times of two processes cannot be compared, since their clock is the driver's own"
            .to_owned()
    });
    missing
        .chain(missing_codec(hello, &arm.codec, workload))
        .chain(restart)
        .collect()
}

/// Returns why the driver cannot exchange the workload's messages, if it has some.
fn missing_codec(hello: &Hello, codec: &Codec, workload: &Workload) -> Option<String> {
    let mut steps = workload.steps.iter();
    let exchanges = steps.any(|step| encoded_message(step).is_some());
    if !exchanges || hello.codecs.contains(codec) {
        return None;
    }
    let names: Vec<_> = hello.codecs.iter().map(Codec::name).collect();
    Some(match names.is_empty() {
        true => format!("exchange: {} does not offer it", hello.stack),
        false => format!(
            "codec {}: {} offers {}",
            codec.name(),
            hello.stack,
            names.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use driver::protocol::{Clock, Protocol};

    use super::*;

    fn hello() -> Hello {
        Hello {
            version: driver::protocol::VERSION,
            stack: "hyper".into(),
            stack_version: "1".into(),
            tls: "none".into(),
            protocols: vec![Protocol::H2],
            capabilities: Vec::new(),
            clock: Clock::Monotonic,
            resolution_ns: 1,
            phases: Default::default(),
            settings: Default::default(),
            codecs: Vec::new(),
        }
    }

    #[test]
    fn codecs_matter_only_where_messages_are_exchanged() {
        let mut hello = hello();
        let mut arm = Arm::plain("hyper", Protocol::H2);
        let exchange = Workload::expand(&[study::Step::Exchange {
            group: "page".into(),
            messages: vec!["small".parse().unwrap()],
            times: 1,
        }]);
        let call = Workload::expand(&[study::Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times: 1,
        }]);
        assert_eq!(missing_capabilities(&hello, &arm, &call), [] as [&str; 0]);
        let mut elsewhere = call.clone();
        elsewhere.steps[0].origin = Some("files".into());
        assert_eq!(
            missing_capabilities(&hello, &arm, &elsewhere),
            [
                "several origins: hyper does not offer it (an arm with `origins = \"one\"` sends all requests to one)"
            ]
        );
        arm.auth = Some(AuthScheme::Jwt);
        assert_eq!(
            missing_capabilities(&hello, &arm, &call),
            ["auth jwt: hyper does not offer it"]
        );
        arm.auth = None;
        assert_eq!(
            missing_capabilities(&hello, &arm, &exchange),
            ["exchange: hyper does not offer it"]
        );
        hello.codecs = vec![Codec("json".into()), Codec("protobuf".into())];
        assert_eq!(
            missing_capabilities(&hello, &arm, &exchange),
            [] as [&str; 0]
        );
        arm.codec = Codec("msgpack".into());
        assert_eq!(
            missing_capabilities(&hello, &arm, &exchange),
            ["codec msgpack: hyper offers json, protobuf"]
        );
        arm.observe = Some("frame:60".into());
        assert_eq!(
            missing_capabilities(&hello, &arm, &call),
            ["observe: hyper does not offer it"]
        );
    }

    #[test]
    fn everything_that_is_lacking_is_named() {
        let mut arm = Arm::plain("hyper", Protocol::H2);
        arm.security = Security::Mtls;
        let mut workload = Workload::expand(&[
            study::Step::Reconnect(Reconnect::Resume),
            study::Step::Reconnect(Reconnect::EarlyData),
            study::Step::Stream {
                group: "ticks".into(),
                body: "{}".into(),
                messages: 2,
            },
        ]);
        workload.restarts.push(1);
        let mut hello = hello();
        hello.clock = Clock::Own;
        let missing = missing_capabilities(&hello, &arm, &workload);
        let named: Vec<&str> = (missing.iter())
            .filter_map(|reason| Some(reason.split_once(':')?.0))
            .collect();
        let expected = [
            "client certificates",
            "resume a session",
            "early data",
            "a stream of messages",
            "restart",
        ];
        assert_eq!(named, expected);
        use Capability::{EarlyData, Mtls, Resume, Stream};
        hello.capabilities = vec![Mtls, Resume, EarlyData, Stream];
        hello.clock = Clock::Monotonic;
        assert_eq!(
            missing_capabilities(&hello, &arm, &workload),
            [] as [&str; 0]
        );
    }
}
