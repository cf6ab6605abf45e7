//! Checks that a driver's `hello` offers what an arm and its workload need.

use driver::protocol::{Action, Capability, Codec, Hello, Step};

use crate::plan::workload::encoded_message;
use crate::study::{Arm, AuthScheme, Security};

/// Returns the first missing capability, as the reason of an unsupported cell.
pub(crate) fn missing_capability(hello: &Hello, arm: &Arm, steps: &[Step]) -> Option<String> {
    let cancels = steps.iter().any(|s| s.cancel_after_ns.is_some());
    let submits = |s: &Step| matches!(s.action, Action::Submit { .. });
    let fetches = |s: &Step| matches!(s.action, Action::Fetch { .. });
    let needs = [
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
            steps.iter().any(submits),
            Capability::Submit,
            "submit a message",
        ),
        (
            steps.iter().any(fetches),
            Capability::Fetch,
            "a request of the study's own",
        ),
        (
            steps.iter().any(|s| s.until.is_some()),
            Capability::Until,
            "stop at a time",
        ),
        (
            steps.iter().any(|s| s.origin.is_some()),
            Capability::Origins,
            "several origins",
        ),
        (cancels, Capability::Cancel, "cancel a request"),
        (arm.observe.is_some(), Capability::Observe, "observe"),
        (arm.policy.is_some(), Capability::Policy, "policy"),
        (
            arm.discovery.is_some(),
            Capability::AltSvc,
            "discover HTTP/3 by Alt-Svc",
        ),
    ];
    let missing = needs
        .iter()
        .find(|(needed, capability, _)| *needed && !hello.capabilities.contains(capability));
    if let Some((_, _, what)) = missing {
        return Some(format!("{what}: {} does not offer it", hello.stack));
    }
    let exchanges = steps.iter().any(|step| encoded_message(step).is_some());
    if !exchanges || hello.codecs.contains(&arm.codec) {
        return None;
    }
    let names: Vec<_> = hello.codecs.iter().map(Codec::name).collect();
    Some(match names.is_empty() {
        true => format!("exchange: {} does not offer it", hello.stack),
        false => format!(
            "codec {}: {} offers {}",
            arm.codec.name(),
            hello.stack,
            names.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use driver::protocol::{Clock, Protocol};

    use super::*;
    use crate::plan::workload::Workload;
    use crate::study;

    #[test]
    fn codecs_matter_only_where_messages_are_exchanged() {
        let mut hello = Hello {
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
        };
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
        assert_eq!(missing_capability(&hello, &arm, &call.steps), None);
        let mut elsewhere = call.clone();
        elsewhere.steps[0].origin = Some("files".into());
        let reason = missing_capability(&hello, &arm, &elsewhere.steps).unwrap();
        assert_eq!(reason, "several origins: hyper does not offer it");
        arm.auth = Some(AuthScheme::Jwt);
        let reason = missing_capability(&hello, &arm, &call.steps).unwrap();
        assert_eq!(reason, "auth jwt: hyper does not offer it");
        arm.auth = None;
        let reason = missing_capability(&hello, &arm, &exchange.steps).unwrap();
        assert_eq!(reason, "exchange: hyper does not offer it");
        hello.codecs = vec![Codec("json".into()), Codec("protobuf".into())];
        assert_eq!(missing_capability(&hello, &arm, &exchange.steps), None);
        arm.codec = Codec("msgpack".into());
        let reason = missing_capability(&hello, &arm, &exchange.steps).unwrap();
        assert_eq!(reason, "codec msgpack: hyper offers json, protobuf");
        arm.observe = Some("frame:60".into());
        let reason = missing_capability(&hello, &arm, &call.steps).unwrap();
        assert_eq!(reason, "observe: hyper does not offer it");
    }
}
