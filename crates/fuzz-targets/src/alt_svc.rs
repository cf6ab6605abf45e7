use route::alt_svc::{AltSvc, parse};

/// Parses the `Alt-Svc` field of a response.
pub fn alt_svc(data: &[u8]) {
    if let AltSvc::H3 { port, max_age } = parse(data, 443) {
        assert!(
            (1..1024).contains(&port),
            "an unprivileged port for a privileged origin"
        );
        assert!(max_age.as_secs() <= 7 * 86_400);
    }
}
