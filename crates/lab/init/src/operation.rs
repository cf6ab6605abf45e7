//! Operations: what a request asks for where its path does not say it, since one URL serves many
//! operations.

mod graphql;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

/// A longer name is none that a person gave.
const MAX_NAME_CHARS: usize = 64;
/// What has more digits is data.
const MAX_DIGITS: usize = 3;
/// The most operations of a batch that its name lists.
const MAX_NAMED: usize = 3;
/// Fields whose value is the operation: SOAP 1.1 section 6.1.1 and AWS's JSON protocols.
const FIELDS: [&str; 2] = ["soapaction", "x-amz-target"];
/// Parameters of a query whose value is the operation.
const PARAMETERS: [&str; 4] = ["action", "method", "op", "operation"];

/// The members of a call (JSON-RPC 2.0 section 4; 1.0 has no `jsonrpc`, but `params`).
#[derive(Deserialize)]
struct Call {
    jsonrpc: Option<Value>,
    method: Option<Value>,
    params: Option<Value>,
}

/// Returns the name of the operation; none if the path alone says what is asked for.
pub(crate) fn operation(
    method: &Method,
    path: &str,
    query: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<String> {
    of_body(method, path, query, body)
        .or_else(|| of_headers(headers))
        .or_else(|| of_query(query?))
}

fn of_body(method: &Method, path: &str, query: Option<&str>, body: &str) -> Option<String> {
    if !body.trim_start().starts_with('[') {
        return graphql::operation(method, path, query, body).or_else(|| of_call(body));
    }
    let batch: Vec<Value> = serde_json::from_str(body).ok()?;
    let mut names: Vec<String> = Vec::new();
    for part in batch {
        let part = part.to_string();
        let name = graphql::operation(method, path, None, &part).or_else(|| of_call(&part))?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(MAX_NAMED);
    (!names.is_empty()).then(|| names.join("-"))
}

fn of_call(body: &str) -> Option<String> {
    if !body.trim_start().starts_with('{') {
        return None;
    }
    let call: Call = serde_json::from_str(body).ok()?;
    let is_call = call.jsonrpc.is_some() || call.params.is_some();
    name(call.method.filter(|_| is_call)?.as_str()?)
}

fn of_headers(headers: &[(&str, &str)]) -> Option<String> {
    let mut values = headers
        .iter()
        .filter(|(name, _)| FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)));
    let (_, value) = values.next()?;
    // SOAP's is a URI in quotes, AWS's has a version before a dot.
    let last = value
        .trim_matches('"')
        .trim_end_matches('/')
        .rsplit(['/', '#', ':', '.']);
    name(last.into_iter().next()?)
}

fn of_query(query: &str) -> Option<String> {
    let of = |wanted: &str| {
        let mut pairs = query.split('&').filter_map(|part| part.split_once('='));
        name(pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?.1)
    };
    PARAMETERS.iter().find_map(|name| of(name))
}

/// Returns an operation's name with dashes between its words, or none if the text is not a name
/// that programs use.
fn name(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_short = text.len() <= MAX_NAME_CHARS && digits <= MAX_DIGITS;
    if !begins || !is_short || !text.chars().all(is_part) {
        return None;
    }
    let mut words = String::new();
    let mut after_lower = false;
    for c in text.chars() {
        if after_lower && c.is_ascii_uppercase() {
            words.push('-');
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        words.push(c);
    }
    let name = crate::slug(&words);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_has_many_operations() {
        let post = |query, headers: &[(&str, &str)], body| {
            operation(&Method::POST, "/rpc", query, headers, body)
        };
        for (query, headers, body, expected) in [
            (
                None,
                vec![],
                r#"{"jsonrpc": "2.0", "method": "cart.getItems", "id": 1}"#,
                Some("cart-get-items"),
            ),
            (
                None,
                vec![],
                r#"{"method": "eth_call", "params": []}"#,
                Some("eth-call"),
            ),
            (None, vec![], r#"{"method": "card", "amount": 3}"#, None),
            (
                None,
                vec![],
                r#"[{"jsonrpc": "2.0", "method": "a"}, {"jsonrpc": "2.0", "method": "b"}, {"jsonrpc": "2.0", "method": "a"}]"#,
                Some("a-b"),
            ),
            (
                None,
                vec![],
                r#"[{"operationName": "GetCart", "query": "{ a }"}]"#,
                Some("get-cart"),
            ),
            (None, vec![], "[1, 2]", None),
            (
                None,
                vec![("X-Amz-Target", "DynamoDB_20120810.GetItem")],
                "{}",
                Some("get-item"),
            ),
            (
                None,
                vec![("SOAPAction", "\"http://a.example/stock#GetPrice\"")],
                "<a/>",
                Some("get-price"),
            ),
            (Some("x=1&action=query"), vec![], "", Some("query")),
            (Some("action=a%20b"), vec![], "", None),
            (Some("action=u1234567"), vec![], "", None),
            (Some("page=2"), vec![], "", None),
        ] {
            assert_eq!(
                post(query, &headers, body).as_deref(),
                expected,
                "{query:?} {headers:?} {body}"
            );
        }
    }
}
