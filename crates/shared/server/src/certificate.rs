//! Reads the subject's common name from an X.509 certificate, for the log.
//!
//! Parsed by hand: this is a single field, and x509-parser is not otherwise in the build. Only an
//! unused feature of rcgen asks for it. rustls has verified the certificate, but the parser does
//! not rely on that: it returns `None` for anything it cannot read.

const INTEGER: u8 = 0x02;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// id-at-commonName, 2.5.4.3 (RFC 5280 appendix A.1).
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Returns the first common name in the certificate's subject.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    // RFC 5280 section 4.1: Certificate { tbsCertificate { [0] version, serialNumber,
    // signature, issuer, validity, subject, ... } ... }
    let mut certificate = Der(certificate);
    let mut tbs = Der(Der(certificate.expect(SEQUENCE)?).expect(SEQUENCE)?);
    let (tag, _) = tbs.next()?;
    for field in [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE]
        .into_iter()
        .skip(usize::from(tag == INTEGER))
    {
        tbs.expect(field)?;
    }
    let mut names = Der(tbs.expect(SEQUENCE)?);
    while let Some(set) = names.expect(SET) {
        let mut attribute = Der(Der(set).expect(SEQUENCE)?);
        if attribute.expect(OBJECT_ID)? == COMMON_NAME {
            let (_, text) = attribute.next()?;
            return String::from_utf8(text.to_vec()).ok();
        }
    }
    None
}

/// Reads DER values (X.690) one after another.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Returns the contents of the next value when it has this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|(found, _)| *found == tag)
            .map(|(_, contents)| contents)
    }

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if digits.len() > size_of::<u32>() {
                return None;
            }
            length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            rest = after;
        }
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, contents))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn certificate(names: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        names
            .iter()
            .for_each(|(kind, name)| params.distinguished_name.push(kind.clone(), *name));
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .der()
            .to_vec()
    }

    #[test]
    fn finds_common_name_after_other_attributes() {
        let der = certificate(&[
            (DnType::OrganizationName, "lab"),
            (DnType::CommonName, "driver é"),
        ]);
        assert_eq!(common_name(&der).as_deref(), Some("driver é"));
    }

    #[test]
    fn returns_none_without_common_name() {
        assert_eq!(
            common_name(&certificate(&[(DnType::OrganizationName, "lab")])),
            None
        );
    }

    #[test]
    fn never_panics_on_damaged_input() {
        let der = certificate(&[(DnType::CommonName, "driver")]);
        for cut in 0..der.len() {
            common_name(&der[..cut]);
            for value in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = der.clone();
                damaged[cut] = value;
                common_name(&damaged);
            }
        }
    }
}
