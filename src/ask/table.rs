//! Answers for people: an object is a list of its fields, a list of objects is a table.

use serde_json::{Map, Value};

use crate::out::{harmless, table};

/// Deepest nesting whose fields get lines of their own; what is below stands on one line as JSON.
const DEEPEST: usize = 4;

/// An answer as text.
pub(super) fn shown(answer: &Value) -> String {
    let Value::Object(fields) = answer else { return one_line(answer) + "\n" };
    let mut page = Page::default();
    page.object("", fields, 0);
    let mut text = page.finish();
    if let Some(meta) = answer.get("_meta") {
        text += &source(meta);
    }
    text
}

/// Where the answer comes from, as of which block, and what it warns of.
fn source(meta: &Value) -> String {
    let said = |pointer: &str| meta.pointer(pointer).filter(|value| !value.is_null()).map(one_line);
    let parts = [("source ", "/source"), ("block ", "/tip/height"), ("as of ", "/freshness")];
    let parts: Vec<String> =
        parts.iter().filter_map(|(word, pointer)| Some(format!("{word}{}", said(pointer)?))).collect();
    let mut text = if parts.is_empty() { String::new() } else { format!("\n{}\n", parts.join(", ")) };
    for warning in meta["warnings"].as_array().into_iter().flatten() {
        text += &format!("warning: {}\n", warning.get("message").map_or_else(|| one_line(warning), one_line));
    }
    text
}

#[derive(Default)]
struct Page {
    /// Fields that wait to be aligned.
    fields: Vec<Vec<String>>,
    text: String,
}

impl Page {
    fn object(&mut self, above: &str, fields: &Map<String, Value>, depth: usize) {
        let mut lists = Vec::new();
        for (name, value) in fields.iter().filter(|(name, _)| depth > 0 || *name != "_meta") {
            let name = if above.is_empty() { harmless(name) } else { format!("{above}.{}", harmless(name)) };
            match value {
                Value::Object(inner) if depth < DEEPEST && !inner.is_empty() => self.object(&name, inner, depth + 1),
                Value::Array(all) if !all.is_empty() && all.iter().all(Value::is_object) => lists.push((name, all)),
                _ => self.fields.push(vec![name, one_line(value)]),
            }
        }
        for (name, all) in lists {
            self.list(&name, all);
        }
    }

    /// Writes the fields that wait.
    fn flush(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        if fields.is_empty() {
            return;
        }
        self.part();
        // Without the line of the header.
        let text = table(&["", ""], &fields);
        self.text += text.split_once('\n').map_or("", |(_, rows)| rows);
    }

    fn part(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A list of objects: a column for each field that one of them has.
    fn list(&mut self, name: &str, all: &[Value]) {
        self.flush();
        let rows: Vec<Vec<(String, String, bool)>> = all.iter().map(cells).collect();
        let mut columns: Vec<(String, bool)> = Vec::new();
        for (name, _, is_number) in rows.iter().flatten() {
            match columns.iter_mut().find(|(known, _)| known == name) {
                Some((_, all_numbers)) => *all_numbers &= is_number,
                None => columns.push((name.clone(), *is_number)),
            }
        }
        let header: Vec<String> =
            columns.iter().map(|(name, right)| format!("{}{name}", if *right { ">" } else { "" })).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let cell = |row: &Vec<(String, String, bool)>, name: &String| {
            row.iter().find(|(of, _, _)| of == name).map(|(_, value, _)| value.clone()).unwrap_or_default()
        };
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| columns.iter().map(|(name, _)| cell(row, name)).collect()).collect();
        self.part();
        self.text += &format!("{name} ({})\n{}", all.len(), table(&header, &rows));
    }

    fn finish(mut self) -> String {
        self.flush();
        self.text
    }
}

/// The fields of a row: name, text, and whether it is a number. Fields of objects in it are its own.
fn cells(row: &Value) -> Vec<(String, String, bool)> {
    fn add(above: &str, row: &Value, depth: usize, cells: &mut Vec<(String, String, bool)>) {
        for (name, value) in row.as_object().into_iter().flatten() {
            let name = if above.is_empty() { harmless(name) } else { format!("{above}.{}", harmless(name)) };
            match value {
                Value::Object(inner) if depth < DEEPEST && !inner.is_empty() => add(&name, value, depth + 1, cells),
                _ => cells.push((name, one_line(value), value.is_number() || value.is_null())),
            }
        }
    }
    let mut found = Vec::new();
    add("", row, 0, &mut found);
    found
}

/// A value on one line. Nothing in it moves the cursor: names and labels are the words of strangers.
fn one_line(value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        Value::String(text) => harmless(text),
        Value::Array(all) if all.iter().all(|one| !one.is_object() && !one.is_array()) => {
            all.iter().map(one_line).collect::<Vec<_>>().join(", ")
        }
        other => harmless(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_lists_of_fields_and_lists_are_tables() {
        let answer = json!({
            "address": "bc1", "balance": {"confirmed_sats": 5, "unconfirmed_sats": null}, "caveats": [],
            "rows": [{"txid": "ab", "sats": 100, "label": {"name": "x"}}, {"txid": "cdef", "sats": 7, "extra": [1, 2]}],
            "_meta": {"source": "index", "tip": {"height": 9}, "freshness": null, "warnings": [{"message": "no\u{7}"}]},
        });
        let expected = "\
address                   bc1
balance.confirmed_sats    5
balance.unconfirmed_sats  unknown
caveats

rows (2)
txid  sats  label.name  extra
ab     100  x
cdef     7              1, 2

source index, block 9
warning: no\\u{7}
";
        assert_eq!(shown(&answer), expected);
    }

    #[test]
    fn words_of_strangers_are_inert() {
        let answer = json!({"label\u{1b}": "\u{1b}[2Jx\u{202e}y\n", "deep": [{"a": [{"b": "\u{7}"}]}]});
        let text = shown(&answer);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(text.contains("\\u{1b}[2Jx\\u{202e}y"), "{text:?}");
    }
}
