//! Trials of certificates, plaintext and authentication.

use driver::protocol::{Action, Protocol};
use study::{AuthScheme, Security};

use super::{LARGE, call, checks, get, plain, steps, trial};
use crate::conformance::case::Trial;

pub(super) fn mtls(_: Protocol) -> Trial {
    Trial {
        security: Security::Mtls,
        ..trial([call(), call()], checks::client_identified)
    }
}

pub(super) fn mtls_wrong(_: Protocol) -> Trial {
    Trial {
        security: Security::Mtls,
        amend_setup: |setup, other| {
            setup.client_cert_file = Some(other.path("client.pem"));
            setup.client_key_file = Some(other.path("client.key"));
        },
        ..trial([call()], checks::nothing_served)
    }
}

pub(super) fn mtls_none(_: Protocol) -> Trial {
    Trial {
        security: Security::Mtls,
        amend_setup: |setup, _| {
            setup.client_cert_file = None;
            setup.client_key_file = None;
        },
        ..trial([call()], checks::nothing_served)
    }
}

pub(super) fn wrong_ca(_: Protocol) -> Trial {
    Trial {
        amend_setup: |setup, other| setup.ca_file = other.path("ca.pem"),
        ..trial([call()], checks::server_rejected)
    }
}

pub(super) fn wrong_name(_: Protocol) -> Trial {
    Trial {
        certificate_name: Some("another.test"),
        ..trial([call()], checks::server_rejected)
    }
}

pub(super) fn expired(_: Protocol) -> Trial {
    Trial {
        server_args: vec!["--valid".into(), "past".into()],
        ..trial([call()], checks::server_rejected)
    }
}

pub(super) fn not_yet_valid(_: Protocol) -> Trial {
    Trial {
        server_args: vec!["--valid".into(), "future".into()],
        ..trial([call()], checks::server_rejected)
    }
}

pub(super) fn plaintext(_: Protocol) -> Trial {
    Trial {
        security: Security::None,
        ..trial([call(), get(LARGE), call()], checks::without_tls)
    }
}

/// Returns a trial with every kind of request, as far as the driver can make it.
fn proven(protocol: Protocol, auth: AuthScheme) -> Trial {
    let put = |bytes| Action::Put { bytes };
    let actions = vec![call(), get(LARGE), put(LARGE), put(0), call()];
    Trial {
        auth: Some(auth),
        steps: steps(actions),
        ..plain(protocol)
    }
}

pub(super) fn jwt(protocol: Protocol) -> Trial {
    proven(protocol, AuthScheme::Jwt)
}

pub(super) fn hmac(protocol: Protocol) -> Trial {
    proven(protocol, AuthScheme::Hmac)
}
