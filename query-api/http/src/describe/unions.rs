//! Alternatives in schemas, in a form that generators of clients understand: words are an `enum`, and each variant of a
//! tagged union has a name and its tag in a `discriminator`. A `oneOf` of constants or of nameless objects is valid,
//! but generators make classes of each constant, or leave the schema out.

use serde_json::{Map, Value, json};

/// Where the components are.
const COMPONENTS: &str = "#/components/schemas/";

/// Writes the words of all schemas as enumerations. The description of the schema comes first, then a line for each
/// described word.
pub(crate) fn words(schema: &mut Value) {
    if let Some(members) = schema.as_object_mut()
        && let Some((words, said)) = members.get("oneOf").and_then(words_of)
    {
        members.remove("oneOf");
        let own = members.remove("description");
        let own = own.as_ref().and_then(Value::as_str).unwrap_or_default();
        let described = [own].into_iter().filter(|own| !own.is_empty()).map(str::to_owned).chain(said);
        let described: Vec<String> = described.collect();
        members.insert("type".to_owned(), "string".into());
        members.insert("enum".to_owned(), words.into());
        if !described.is_empty() {
            members.insert("description".to_owned(), described.join("\n").into());
        }
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(words),
        Value::Array(all) => all.iter_mut().for_each(words),
        _ => {}
    }
}

/// The words of alternatives that are nothing else, and a line for each that is described.
fn words_of(alternatives: &Value) -> Option<(Vec<Value>, Vec<String>)> {
    let (mut words, mut said) = (Vec::new(), Vec::new());
    for one in alternatives.as_array()? {
        let own: Vec<Value> = match (one.get("const"), one.get("enum")) {
            (Some(word), _) => vec![word.clone()],
            (None, Some(Value::Array(own))) => own.clone(),
            _ => return None,
        };
        if !own.iter().all(Value::is_string) {
            return None;
        }
        if let Some(about) = one.get("description").and_then(Value::as_str) {
            said.extend(own.iter().filter_map(Value::as_str).map(|word| format!("- `{word}`: {about}")));
        }
        words.extend(own);
    }
    Some((words, said))
}

/// Names each variant of the tagged unions among the components, and adds the tag as `discriminator`.
pub(crate) fn variants(schemas: &mut Map<String, Value>) {
    let unions: Vec<(String, Vec<Value>, String)> = schemas
        .iter()
        .filter_map(|(name, schema)| {
            let variants = schema.get("oneOf")?.as_array()?;
            Some((name.clone(), variants.clone(), tag_of(variants)?))
        })
        .collect();
    for (union, variants, tag) in unions {
        let (mut references, mut mapping) = (Vec::new(), Map::new());
        for mut variant in variants {
            let word = variant["properties"][&tag]["const"].as_str().unwrap_or_default().to_owned();
            let name = format!("{union}{}", pascal(&word));
            // Objects in it get names of their own, too.
            for (field, inner) in variant["properties"].as_object_mut().into_iter().flatten() {
                if inner.get("properties").is_some() || inner["type"] == "object" {
                    let own = format!("{name}{}", pascal(field));
                    let inner = std::mem::replace(inner, json!({"$ref": format!("{COMPONENTS}{own}")}));
                    schemas.insert(own, inner);
                }
            }
            let reference = format!("{COMPONENTS}{name}");
            references.push(json!({"$ref": reference}));
            mapping.insert(word, reference.into());
            schemas.insert(name, variant);
        }
        if let Some(schema) = schemas.get_mut(&union) {
            schema["oneOf"] = references.into();
            schema["discriminator"] = json!({"propertyName": tag, "mapping": mapping});
        }
    }
}

/// The field that distinguishes the variants: each has a constant word there, and no two have the same.
fn tag_of(variants: &[Value]) -> Option<String> {
    let first = variants.first()?.get("properties")?.as_object()?;
    let is_tag = |field: &String| {
        let mut words: Vec<&str> = variants.iter().filter_map(|v| v["properties"][field]["const"].as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words.len() == variants.len()
    };
    first.keys().find(|field| is_tag(field)).cloned()
}

/// `source_stale` as `SourceStale`.
fn pascal(word: &str) -> String {
    let upper = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    };
    word.split(|c: char| !c.is_ascii_alphanumeric()).map(upper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_enumerations() {
        let mut schema = json!({"properties": {"a": {"description": "Which.", "oneOf": [
            {"type": "string", "enum": ["x", "y"]},
            {"type": "string", "const": "z", "description": "The last."},
        ]}, "b": {"oneOf": [{"type": "string"}, {"const": "c"}]}}});
        words(&mut schema);
        let expected = json!({"type": "string", "enum": ["x", "y", "z"], "description": "Which.\n- `z`: The last."});
        assert_eq!(schema["properties"]["a"], expected);
        assert!(schema["properties"]["b"]["oneOf"].is_array(), "any text is no word");
    }

    #[test]
    fn variants_have_names() {
        let variant = |code: &str| json!({"type": "object", "properties": {"code": {"const": code}, "params": {"type": "object"}}});
        let mut schemas = Map::new();
        schemas.insert("Caveat".to_owned(), json!({"oneOf": [variant("no_price"), variant("old")]}));
        schemas
            .insert("Other".to_owned(), json!({"oneOf": [{"$ref": "#/components/schemas/Caveat"}, {"type": "null"}]}));
        let other = schemas["Other"].clone();
        variants(&mut schemas);
        let names: Vec<&String> = schemas.keys().filter(|name| name.starts_with("Caveat")).collect();
        assert_eq!(names.len(), 5, "{names:?}");
        assert_eq!(
            schemas["CaveatNoPrice"]["properties"]["params"]["$ref"],
            "#/components/schemas/CaveatNoPriceParams"
        );
        let discriminator = &schemas["Caveat"]["discriminator"];
        assert_eq!(discriminator["propertyName"], "code");
        assert_eq!(discriminator["mapping"]["old"], "#/components/schemas/CaveatOld");
        assert_eq!(schemas["Other"], other);
    }
}
