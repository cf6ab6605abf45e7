//! The signature base: the text that is signed (RFC 9421, section 2.5).

use std::fmt::Write as _;

use sfv::{BareItem, InnerList, Item, ListSerializer, Parameters, StringRef};

/// Returns a member of Signature-Input: the covered components, in this order, and the parameters.
pub(crate) fn input<'a>(
    components: impl Iterator<Item = &'a str>,
    parameters: Parameters,
) -> InnerList {
    let items = components
        // Names of components are lower-case ASCII.
        .filter_map(|name| StringRef::from_str(name).ok())
        .map(Item::new);
    InnerList::with_params(items.collect(), parameters)
}

/// Returns the canonical text of an input, as it stands in Signature-Input and is signed.
pub(crate) fn text(input: &InnerList) -> String {
    let mut list = ListSerializer::new();
    let mut inner = list.inner_list();
    inner.items(&input.items);
    inner.finish().parameters(&input.params);
    // None only for a list without members; this one has one.
    list.finish().unwrap_or_default()
}

/// Returns the signature base. `value_of` returns the value of a component, or none for one that is not
/// to be signed.
///
/// # Errors
///
/// The name of the first component that `value_of` has no value for, or that has parameters.
pub(crate) fn base(
    input: &InnerList,
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut base = String::new();
    for item in &input.items {
        let BareItem::String(name) = &item.bare_item else {
            return Err("a component that is no string".to_owned());
        };
        let value = match item.params.is_empty() {
            true => value_of(name.as_str()),
            false => None,
        };
        let Some(value) = value else {
            return Err(name.as_str().to_owned());
        };
        // Writing to a string never fails.
        _ = writeln!(base, "\"{}\": {value}", name.as_str());
    }
    _ = write!(base, "\"@signature-params\": {}", text(input));
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sfv::{Dictionary, ListEntry, Parser};

    /// RFC 9421, appendix B.2.5, with the key of B.1.5.
    #[test]
    fn base_and_code_are_those_of_the_rfc() {
        const SECRET: &str = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBt\
                              bmHhIDi6pcl8jsasjlTMtDQ==";
        let field = "sig-b25=(\"date\" \"@authority\" \"content-type\");created=1618884473\
                     ;keyid=\"test-shared-secret\"";
        let fields: Dictionary = Parser::new(field).parse().unwrap();
        let Some(ListEntry::InnerList(input)) = fields.get("sig-b25") else {
            panic!("no inner list");
        };
        let value_of = |name: &str| match name {
            "date" => Some("Tue, 20 Apr 2021 02:07:55 GMT".to_owned()),
            "@authority" => Some("example.com".to_owned()),
            "content-type" => Some("application/json".to_owned()),
            _ => None,
        };
        let base = base(input, value_of).unwrap();
        assert_eq!(
            base,
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\
             \"@authority\": example.com\n\
             \"content-type\": application/json\n\
             \"@signature-params\": (\"date\" \"@authority\" \"content-type\")\
             ;created=1618884473;keyid=\"test-shared-secret\""
        );
        let key = Key::new("test-shared-secret", &STANDARD.decode(SECRET).unwrap()).unwrap();
        let mac = key.mac(&[base.as_bytes()]);
        assert_eq!(
            STANDARD.encode(mac),
            "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="
        );
        assert!(key.verifies(base.as_bytes(), &mac));
    }
}
