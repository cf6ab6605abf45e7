//! Checks that each request arrived at the origin that its step names.

use record::server_log::RequestEvent;
use study::plan::PlannedStep;

use super::Claim;

/// In the joined log of several servers, connection `n` of server `s`, counted from 0, has the number
/// `s * CONNECTIONS_PER_SERVER + n`.
pub const CONNECTIONS_PER_SERVER: u64 = 1_000_000;

/// Where the requests of an origin must arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// `name:port`.
    pub authority: String,
    /// The number of its server, from 0.
    pub server: u64,
}

/// Checks which server saw the request, and under which name if the server logs that.
pub(super) fn check(
    claim: &Claim<'_>,
    step: &PlannedStep<'_>,
    hit: &RequestEvent,
) -> Result<(), String> {
    let id = step.step.id;
    let Some(expected) = claim.destinations.get(&step.step.origin) else {
        return Ok(());
    };
    let should = &expected.authority;
    if hit.connection / CONNECTIONS_PER_SERVER != expected.server {
        return Err(format!(
            "call {id}: should go to {should}, another server saw it"
        ));
    }
    match &hit.authority {
        Some(saw) if !saw.eq_ignore_ascii_case(should) => Err(format!(
            "call {id}: should go to {should}, the server saw it for {saw}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use record::server_log::ServerEvent;
    use study::Step;
    use study::plan::Workload;

    use super::super::tests::{claim, request};
    use super::*;

    fn seen(connection: u64, authority: Option<&str>) -> RequestEvent {
        let ServerEvent::Request(mut hit) = request(1, 1_400) else {
            unreachable!()
        };
        hit.connection = connection;
        hit.authority = authority.map(str::to_owned);
        hit
    }

    #[test]
    fn a_request_must_arrive_at_the_origin_of_its_step() {
        let call = Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times: 1,
        };
        let workload = Workload::expand(&[Step::At {
            origin: "files".into(),
            step: Box::new(call),
        }]);
        let mut claim = claim(&workload);
        let step = workload.planned_steps()[&1];
        let elsewhere = seen(1, Some("origin.test:8443"));
        assert_eq!(check(&claim, &step, &elsewhere), Ok(()));
        let files = Destination {
            authority: "origin-1.test:8444".into(),
            server: 1,
        };
        claim.destinations = [(Some("files".to_owned()), files)].into();
        let second = CONNECTIONS_PER_SERVER + 1;
        for (hit, expected) in [
            (seen(second, Some("Origin-1.test:8444")), Ok(())),
            (seen(second, None), Ok(())),
            (
                seen(1, Some("origin-1.test:8444")),
                Err("call 1: should go to origin-1.test:8444, another server saw it"),
            ),
            (
                seen(second, Some("origin.test:8443")),
                Err(
                    "call 1: should go to origin-1.test:8444, the server saw it for origin.test:8443",
                ),
            ),
        ] {
            assert_eq!(check(&claim, &step, &hit), expected.map_err(str::to_owned));
        }
    }
}
