//! GraphQL: all requests go to one path, and only the body says what is asked for.

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::name;

/// What an operation begins with, if it has a name.
const KINDS: [&str; 3] = ["query", "mutation", "subscription"];

/// The members of a request (GraphQL over HTTP, section 5.4).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    operation_name: Option<Value>,
    query: Option<Value>,
}

/// Returns the name of the operation that a request asks for; none if it is no request of GraphQL, or its
/// operation has no name.
pub(super) fn operation(
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: &str,
) -> Option<String> {
    let is_endpoint = path.to_ascii_lowercase().contains("graphql");
    if *method == Method::GET {
        let parameters = query.filter(|_| is_endpoint)?.split('&');
        let mut names = parameters.filter_map(|part| part.strip_prefix("operationName="));
        return name(names.next()?);
    }
    if !body.trim_start().starts_with('{') {
        return None;
    }
    let request: Request = serde_json::from_str(body).ok()?;
    let document = request.query.as_ref().and_then(Value::as_str);
    let document = document.filter(|text| text.contains('{'));
    if !is_endpoint && document.is_none() {
        return None;
    }
    let named = request.operation_name.as_ref().and_then(Value::as_str);
    named.and_then(name).or_else(|| of_document(document?))
}

/// Returns the name of the first operation in a document.
fn of_document(text: &str) -> Option<String> {
    let text = text.trim_start();
    let rest = KINDS.iter().find_map(|kind| text.strip_prefix(kind))?;
    let rest = rest.strip_prefix(|c: char| c.is_whitespace())?.trim_start();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name(&rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_by_body_or_query() {
        for (path, body, expected) in [
            (
                "/graphql",
                r#"{"operationName": "GetCart", "variables": {}}"#,
                Some("get-cart"),
            ),
            (
                "/api",
                r#"{"operationName": null, "query": "query Cart2($id: ID) { a }"}"#,
                Some("cart2"),
            ),
            (
                "/api",
                r#"{"query": "mutation add_item{a}"}"#,
                Some("add-item"),
            ),
            ("/graphql", r#"{"query": "{ me { id } }"}"#, None),
            ("/graphql", r#"{"operationName": "no name"}"#, None),
            ("/graphql", r#"[{"operationName": "GetCart"}]"#, None),
            (
                "/search",
                r#"{"query": "red shoes", "operationName": "x"}"#,
                None,
            ),
        ] {
            let found = operation(&Method::POST, path, None, body);
            assert_eq!(found.as_deref(), expected, "{path} {body}");
        }
        let get = |query| operation(&Method::GET, "/graphql", Some(query), "");
        assert_eq!(get("id=1&operationName=Me").as_deref(), Some("me"));
        assert_eq!(get("id=1"), None);
    }
}
