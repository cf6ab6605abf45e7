use serde_json::Value;

/// Asserts that a JSON value is valid by a JSON Schema. It supports what schemas made from Rust types contain:
/// references, types, properties, items, names and alternatives.
///
/// # Panics
///
/// When it is not, with the path of the first part that is wrong.
#[track_caller]
pub fn assert_valid(what: &str, value: &Value, schema: &Value) {
    if let Err(wrong) = check(value, schema, schema, "") {
        panic!("{what}: {wrong}");
    }
}

fn check(value: &Value, schema: &Value, root: &Value, path: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return check(value, &root["$defs"][name], root, path);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(all) = schema[key].as_array() {
            let fits = |one: &&Value| check(value, one, root, path).is_ok();
            if !all.iter().any(|one| fits(&one)) {
                return Err(format!("{path}: {value} is none of {key}"));
            }
        }
    }
    if !has_type(value, &schema["type"]) {
        return Err(format!("{path}: {value} is no {}", schema["type"]));
    }
    let is_one_of = |names: &Vec<Value>| names.contains(value);
    if !schema["enum"].as_array().is_none_or(is_one_of) {
        return Err(format!("{path}: {value} is none of {}", schema["enum"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{path}: {value} is not {}", schema["const"]));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(of_items) = schema.get("items") {
            check(item, of_items, root, &format!("{path}[{index}]"))?;
        }
    }
    let Some(fields) = value.as_object() else {
        return Ok(());
    };
    for (key, value) in fields {
        let path = format!("{path}.{key}");
        match (
            schema["properties"].get(key),
            &schema["additionalProperties"],
        ) {
            (Some(of_key), _) => check(value, of_key, root, &path)?,
            (None, Value::Bool(false)) => return Err(format!("{path} is not known")),
            (None, others @ Value::Object(_)) => check(value, others, root, &path)?,
            _ => {}
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = required
        .filter_map(Value::as_str)
        .find(|key| !fields.contains_key(*key));
    missing.map_or(Ok(()), |key| Err(format!("{path}: {key} is missing")))
}

fn has_type(value: &Value, wanted: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_found() {
        let schema = json!({
            "type": "object",
            "required": ["name"],
            "additionalProperties": false,
            "properties": {
                "name": {"type": "string"},
                "kind": {"$ref": "#/$defs/Kind"},
                "sizes": {"type": ["array", "null"], "items": {"type": "integer"}},
            },
            "$defs": {"Kind": {"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]}},
        });
        let result = |value: Value| check(&value, &schema, &schema, "");
        assert_eq!(
            result(json!({"name": "x", "kind": "b", "sizes": [1, 2]})),
            Ok(())
        );
        for wrong in [
            json!([]),
            json!({}),
            json!({"name": 1}),
            json!({"name": "x", "kind": "d"}),
            json!({"name": "x", "sizes": [1, 0.5]}),
            json!({"name": "x", "other": 1}),
        ] {
            assert!(result(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
