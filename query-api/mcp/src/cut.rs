//! Cuts lists in an answer, so that it fits into a message to a model. Works on the text: numbers stay as they were
//! printed.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Most steps of cutting; each step halves a list, or removes the excess.
const MAX_STEPS: usize = 64;
/// Members in which a row says when it is.
const TIMES: [&str; 6] = ["date", "day", "time", "height", "closes_at", "at"];

/// A list of which rows were left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CutList {
    /// Its path, with dots.
    pub(crate) name: String,
    pub(crate) shown: usize,
    pub(crate) of: usize,
    /// True if the last rows are shown: those of a list that ascends by time.
    pub(crate) newest: bool,
}

struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(InOrder)
    }
}

/// Cuts the longest lists of a JSON text until it has at most `max` bytes. `None` if no list can be cut further.
pub(crate) fn cut(text: &str, max: usize) -> Option<(String, Vec<CutList>)> {
    let (mut text, mut lists) = (text.to_owned(), Vec::new());
    for _ in 0..MAX_STEPS {
        let Some(excess) = text.len().checked_sub(max).filter(|excess| *excess > 0) else {
            return Some((text, lists));
        };
        text = shorter(&text, excess, String::new(), &mut lists)?;
    }
    None
}

/// Rows of the longest list of a JSON text, or of an object in it; `None` if it has none.
pub(crate) fn rows_of_longest(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'[' => Some(serde_json::from_str::<Vec<&RawValue>>(text).ok()?.len()),
        b'{' => {
            let Members(members) = serde_json::from_str(text).ok()?;
            let is_compound = |raw: &str| raw.starts_with(['[', '{']);
            let own = members.iter().filter(|(name, raw)| name != "_meta" && is_compound(raw.get()));
            rows_of_longest(own.max_by_key(|(_, raw)| raw.get().len())?.1.get())
        }
        _ => None,
    }
}

/// Cuts the longest list once; `None` if there is no list.
fn shorter(text: &str, excess: usize, path: String, lists: &mut Vec<CutList>) -> Option<String> {
    match text.as_bytes().first()? {
        b'{' => {
            let Members(mut members) = serde_json::from_str(text).ok()?;
            let mut order: Vec<usize> = (0..members.len()).collect();
            order.sort_by_key(|at| std::cmp::Reverse(members.get(*at).map_or(0, |(_, raw)| raw.get().len())));
            for at in order {
                let (name, raw) = members.get_mut(at)?;
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                // Metadata of an answer stays.
                if name != "_meta"
                    && let Some(text) = shorter(raw.get(), excess, below, lists)
                {
                    *raw = RawValue::from_string(text).ok()?;
                    let members =
                        members.iter().map(|(name, raw)| format!("{}:{}", Value::from(name.as_str()), raw.get()));
                    return Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
                }
            }
            None
        }
        b'[' => {
            let rows: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            match rows.as_slice() {
                [] => None,
                [only] => Some(format!("[{}]", shorter(only.get(), excess, format!("{path}[]"), lists)?)),
                [first, .., last] => {
                    let newest = ascends(first, last);
                    let dropped = |count: usize| -> usize {
                        let bytes = |row: &&RawValue| row.get().len() + 1;
                        match newest {
                            true => rows.iter().take(count).map(bytes).sum(),
                            false => rows.iter().rev().take(count).map(bytes).sum(),
                        }
                    };
                    // At most half at a time: another list may be longer then.
                    let count = (1..=rows.len() / 2).find(|count| dropped(*count) >= excess).unwrap_or(rows.len() / 2);
                    let kept = if newest { rows.get(count..) } else { rows.get(..rows.len() - count) }?;
                    match lists.iter_mut().find(|list| list.name == path) {
                        Some(list) => list.shown = kept.len(),
                        None => lists.push(CutList { name: path, shown: kept.len(), of: rows.len(), newest }),
                    }
                    Some(format!("[{}]", kept.iter().map(|row| row.get()).collect::<Vec<_>>().join(",")))
                }
            }
        }
        _ => None,
    }
}

/// True if the last row is later than the first.
fn ascends(first: &RawValue, last: &RawValue) -> bool {
    let row = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let (first, last) = (row(first), row(last));
    TIMES.iter().any(|name| match (&first[name], &last[name]) {
        (Value::String(first), Value::String(last)) => first < last,
        (Value::Number(first), Value::Number(last)) => first.as_u64() < last.as_u64(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_lists_are_cut_and_the_rest_stays() {
        let rows = |count: u32| (0..count).map(|n| json!({"n": n, "text": "x".repeat(50)})).collect::<Vec<_>>();
        let whole = json!({"total": 300, "a": rows(300), "b": {"c": rows(40)}, "_meta": {"w": rows(3)}}).to_string();
        for max in [500, 2_000, 9_000, whole.len() - 1] {
            let (text, lists) = cut(&whole, max).unwrap();
            assert!(text.len() <= max && text.len() + 2_000 > max.min(10_000), "{max}: {}", text.len());
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["total"], value["_meta"]["w"].as_array().unwrap().len()), (&300.into(), 3));
            for list in &lists {
                let found = list.name.split('.').fold(&value, |value, name| &value[name]).as_array().unwrap();
                assert_eq!((found.len(), &found[0]["n"]), (list.shown, &0.into()), "{list:?}");
            }
        }
        assert_eq!(cut(&whole, whole.len()).unwrap(), (whole.clone(), Vec::new()));
        assert!(cut(&whole, 100).is_none(), "what is no list is not cut");
    }

    #[test]
    fn of_a_list_that_ascends_by_time_the_newest_rows_stay() {
        let rows: Vec<Value> = (10..60).map(|n| json!({"date": format!("2020-01-{n}"), "v": 0.5})).collect();
        let whole = format!("{{\"points\":{}}}", json!(rows)).replace("0.5", "0.50");
        let (text, lists) = cut(&whole, 600).unwrap();
        assert!(text.contains("2020-01-59") && !text.contains("2020-01-10") && text.contains("0.50"), "{text}");
        assert!(lists[0].newest && lists[0].of == 50 && text.matches("date").count() == lists[0].shown);
    }
}
