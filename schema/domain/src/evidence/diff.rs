//! The difference of two packs about one address, each change with what caused it.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::pack::{BadPack, covered};

/// A change.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The place: a JSON pointer in which items of lists have their ids.
    pub place: String,
    /// The value in the first pack; `None` if it lacks it.
    pub before: Option<Value>,
    /// The value in the second pack; `None` if it lacks it.
    pub after: Option<Value>,
    /// Causes: blocks, claims, input events, definitions, parameters. Several if the packs do not decide between them.
    pub by: Vec<String>,
}

/// Longest value that is shown, in characters.
const SHOWN: usize = 96;

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<Value>| match value {
            None => "absent".to_owned(),
            Some(Value::Object(members)) => format!("an object of {} members", members.len()),
            Some(Value::Array(items)) => format!("a list of {}", items.len()),
            Some(value) => {
                let text = value.to_string();
                let cut: String = text.chars().take(SHOWN).collect();
                if cut.len() < text.len() { format!("{cut}…") } else { cut }
            }
        };
        write!(f, "{}: {} → {}; by {}", self.place, value(&self.before), value(&self.after), self.by.join(", or "))
    }
}

/// Members that identify the items of a list, the most specific first.
const IDS: [&str; 6] = ["claim_id", "txid", "id", "flag", "code", "entity"];
/// They follow from the tip: a change of the tip is reported once.
const FOLLOWS: [&str; 1] = ["confirmations"];
/// Sections that depend on claims first of all.
const OF_CLAIMS: [&str; 2] = ["labels", "trust_safety"];

/// Returns the changes from one pack to another, as far as their digests cover them.
pub fn diff(before: &Value, after: &Value) -> Result<Vec<Change>, BadPack> {
    let (before, after) = (covered(before)?, covered(after)?);
    let mut comparing = Comparing { causes: Causes::of(&before, &after), changes: Vec::new() };
    let names = |of: &Value| of.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut all = names(&before);
    all.extend(names(&after));
    // Possible causes of other changes come first.
    let first = ["address", "network", "parameters", "tip", "ledger_seq", "labels_as_of", "definitions"];
    all.sort_by_key(|name| first.iter().position(|of| of == name).unwrap_or(first.len()));
    let mut seen = BTreeSet::new();
    for name in all.into_iter().filter(|name| seen.insert(name.clone())) {
        comparing.walk(&format!("/{name}"), before.get(&name), after.get(&name), None);
    }
    Ok(comparing.changes)
}

/// Differences between two packs besides those of their sections.
struct Causes {
    tip: Option<String>,
    events: Option<String>,
    /// Definitions, parameters and the day.
    others: Vec<String>,
}

impl Causes {
    fn of(before: &Value, after: &Value) -> Self {
        let differs = |name: &str| before.get(name) != after.get(name);
        let height = |of: &Value| of.pointer("/tip/height").and_then(Value::as_u64).unwrap_or_default();
        let seq = |of: &Value| of.get("ledger_seq").and_then(Value::as_u64).unwrap_or_default();
        let tip = differs("tip").then(|| match (height(before), height(after)) {
            (a, b) if b == a + 1 => format!("block {b}"),
            (a, b) if b > a => format!("blocks {} to {b}", a + 1),
            (a, b) => format!("a reorganization: the tip was block {a} and is block {b}"),
        });
        let events = differs("ledger_seq").then(|| match (seq(before), seq(after)) {
            (a, b) if b == a + 1 => format!("input event {b}"),
            (a, b) if b > a => format!("input events {} to {b}", a + 1),
            (a, b) => format!("another ledger: its newest event was {a} and is {b}"),
        });
        let mut others = Vec::new();
        let versions = |of: &Value| of.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
        let (old, new) = (versions(before), versions(after));
        let ids: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        others.extend(ids.into_iter().filter(|id| old.get(*id) != new.get(*id)).map(|id| format!("definition {id}")));
        if differs("parameters") || differs("address") {
            others.push("the request".to_owned());
        }
        if differs("labels_as_of") {
            others.push("the time for which claims count".to_owned());
        }
        Causes { tip, events, others }
    }

    /// Causes of a change in a place.
    fn for_place(&self, place: &str) -> Vec<String> {
        let is_of_claims = OF_CLAIMS.iter().any(|section| place.starts_with(&format!("/sections/{section}/")));
        let pair = if is_of_claims { [&self.events, &self.tip] } else { [&self.tip, &self.events] };
        let mut found: Vec<String> = pair.into_iter().flatten().cloned().collect();
        found.extend(self.others.iter().cloned());
        if found.is_empty() {
            found.push("nothing that the packs name".to_owned());
        }
        found
    }
}

struct Comparing {
    causes: Causes,
    changes: Vec<Change>,
}

impl Comparing {
    fn walk(&mut self, place: &str, before: Option<&Value>, after: Option<&Value>, by: Option<&str>) {
        if before == after {
            return;
        }
        match (before, after) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
                for name in names.filter(|name| !FOLLOWS.contains(&name.as_str())) {
                    self.walk(&format!("{place}/{name}"), old.get(name), new.get(name), by);
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => match id_of_items(old, new) {
                Some(id) => self.by_id(place, id, old, new),
                None => {
                    for at in 0..old.len().max(new.len()) {
                        self.walk(&format!("{place}/{at}"), old.get(at), new.get(at), by);
                    }
                }
            },
            _ => {
                let by = match (by, place) {
                    (Some(by), _) => vec![by.to_owned()],
                    // They are causes themselves.
                    (None, place) if !place.starts_with("/sections/") => vec!["the pack".to_owned()],
                    (None, place) => self.causes.for_place(place),
                };
                self.changes.push(Change {
                    place: place.to_owned(),
                    before: before.cloned(),
                    after: after.cloned(),
                    by,
                });
            }
        }
    }

    fn by_id(&mut self, place: &str, id: &str, old: &[Value], new: &[Value]) {
        let find = |items: &'_ [Value], of: &Value| items.iter().position(|item| item.get(id) == of.get(id));
        for item in old {
            self.item(place, id, Some(item), find(new, item).and_then(|at| new.get(at)));
        }
        for item in new.iter().filter(|item| find(old, item).is_none()) {
            self.item(place, id, None, Some(item));
        }
    }

    fn item(&mut self, place: &str, id: &str, before: Option<&Value>, after: Option<&Value>) {
        let Some(known) = after.or(before) else { return };
        let name = known.get(id).and_then(Value::as_str).unwrap_or_default();
        let is_new_or_gone = before.is_none() || after.is_none();
        let height = known.pointer("/status/height").or_else(|| known.get("height")).and_then(Value::as_u64);
        let by = match (id, height) {
            ("claim_id", _) => Some(format!("claim {name}")),
            ("txid", Some(height)) if is_new_or_gone && self.causes.tip.is_some() => Some(format!("block {height}")),
            _ => None,
        };
        self.walk(&format!("{place}/[{id}={name}]"), before, after, by.as_deref());
    }
}

/// The member that identifies the items of both lists: each has it as a text, no two the same.
fn id_of_items(old: &[Value], new: &[Value]) -> Option<&'static str> {
    let identifies = |items: &[Value], id: &str| {
        let ids: Option<BTreeSet<&str>> = items.iter().map(|item| item.get(id).and_then(Value::as_str)).collect();
        ids.is_some_and(|ids| ids.len() == items.len())
    };
    IDS.into_iter()
        .find(|id| identifies(old, id) && identifies(new, id))
        .filter(|_| !(old.is_empty() && new.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::pack::FORMAT, *};

    fn pack(height: u64, seq: u64, claims: Value, txs: Value) -> Value {
        json!({
            "format": FORMAT, "address": "a", "tip": {"height": height}, "ledger_seq": seq,
            "definitions": {"claims": "1"}, "digest_covers": ["labels", "transactions"],
            "sections": {
                "labels": {"status": "ok", "data": {"total": claims.as_array().unwrap().len(), "claims": claims}},
                "transactions": {"status": "ok", "data": {"transactions": txs}},
            },
        })
    }

    fn tx(id: &str, height: u64, tip: u64) -> Value {
        json!({"txid": id, "status": {"height": height, "confirmations": tip - height + 1}})
    }

    #[test]
    fn changes_name_their_causes() {
        let claim = |id: &str, level: u8| json!({"claim_id": id, "level": level});
        let before = pack(9, 3, json!([claim("d:1", 40)]), json!([tx("t1", 5, 9)]));
        assert_eq!(diff(&before, &before), Ok(Vec::new()));
        let after =
            pack(10, 4, json!([claim("d:1", 70), claim("d:2", 10)]), json!([tx("t2", 10, 10), tx("t1", 5, 10)]));
        let told: Vec<String> = diff(&before, &after).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "/tip/height: 9 → 10; by the pack",
                "/ledger_seq: 3 → 4; by the pack",
                "/sections/labels/data/total: 1 → 2; by input event 4, or block 10",
                "/sections/labels/data/claims/[claim_id=d:1]/level: 40 → 70; by claim d:1",
                "/sections/labels/data/claims/[claim_id=d:2]: absent → an object of 2 members; by claim d:2",
                "/sections/transactions/data/transactions/[txid=t2]: absent → an object of 2 members; by block 10",
            ]
        );
        let mut other = before.clone();
        other["definitions"]["claims"] = json!("2");
        other["sections"]["labels"]["data"]["total"] = json!(7);
        let told: Vec<String> = diff(&before, &other).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "/definitions/claims: \"1\" → \"2\"; by the pack",
                "/sections/labels/data/total: 1 → 7; by definition claims",
            ]
        );
        let reorganized = pack(9, 3, json!([claim("d:1", 40)]), json!([]));
        let mut reorganized_tip = reorganized.clone();
        reorganized_tip["tip"]["hash"] = json!("x");
        let gone = diff(&before, &reorganized_tip).unwrap();
        assert_eq!(gone.last().unwrap().by, ["block 5"]);
        assert!(diff(&before, &json!({})).is_err());
    }
}
