//! Where drawn money stops: the boxes that did not pass on all that reached them, with the balances of their addresses.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::format;

/// Stops that are listed, and whose balances are asked for.
const MAX_STOPS: usize = 20;

/// A box of the drawing, as far as stops need it.
pub(super) struct Reached<'a> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) address: Option<&'a str>,
}

/// A payment of the drawing.
pub(super) struct Paid<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) sats: i64,
}

/// A box where money stops.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Stop {
    pub(super) id: String,
    kind: String,
    pub(super) address: Option<String>,
    /// The sum that reached it along the payments that are drawn.
    pub(super) arrived: i64,
    /// The part that it did not pass on along them.
    pub(super) rest: i64,
}

/// Stops of the money that left `start`, the largest first, and the number of further ones.
pub(super) fn stops(start: &str, boxes: &[Reached<'_>], payments: &[Paid<'_>]) -> (Vec<Stop>, usize) {
    let reached = reached(start, payments);
    let (mut came, mut left) = (BTreeMap::<&str, i64>::new(), BTreeMap::<&str, i64>::new());
    for paid in payments.iter().filter(|paid| reached.contains(paid.source)) {
        for (sums, id) in [(&mut came, paid.target), (&mut left, paid.source)] {
            let sum = sums.entry(id).or_default();
            *sum = sum.saturating_add(paid.sats);
        }
    }
    let sum_of = |sums: &BTreeMap<&str, i64>, id: &str| sums.get(id).copied().unwrap_or_default();
    let others = boxes.iter().filter(|one| one.id != start && reached.contains(one.id));
    let mut found: Vec<Stop> = others
        .filter_map(|one| {
            let arrived = sum_of(&came, one.id);
            let rest = arrived.saturating_sub(sum_of(&left, one.id));
            let address = (one.kind == "address").then_some(one.address).flatten().map(str::to_owned);
            (rest > 0).then(|| Stop { id: one.id.to_owned(), kind: one.kind.to_owned(), address, arrived, rest })
        })
        .collect();
    found.sort_by(|a, b| b.rest.cmp(&a.rest).then_with(|| a.id.cmp(&b.id)));
    let further = found.len().saturating_sub(MAX_STOPS);
    found.truncate(MAX_STOPS);
    (found, further)
}

/// The boxes that money from `start` reaches, and `start`.
fn reached<'a>(start: &'a str, payments: &[Paid<'a>]) -> BTreeSet<&'a str> {
    let mut onward = BTreeMap::<&str, Vec<&'a str>>::new();
    for paid in payments {
        onward.entry(paid.source).or_default().push(paid.target);
    }
    let (mut found, mut next) = (BTreeSet::from([start]), vec![start]);
    while let Some(id) = next.pop() {
        for target in onward.get(id).into_iter().flatten() {
            if found.insert(target) {
                next.push(target);
            }
        }
    }
    found
}

impl Stop {
    /// Describes where the money is now, given the balance of the address.
    pub(super) fn state(&self, holds: Option<i64>) -> String {
        match (self.kind.as_str(), holds) {
            ("address", Some(held)) if held >= self.rest => "holds at least as much".to_owned(),
            ("address", Some(held)) if held > 0 => "holds less: a part moved on, outside the drawing".to_owned(),
            ("address", Some(_)) => "moved on, outside the drawing".to_owned(),
            ("address", None) => "balance unknown".to_owned(),
            ("cluster" | "entity", _) => "a box of many addresses: no single balance".to_owned(),
            ("fee", _) => "fees of miners".to_owned(),
            (kind, _) => format!("the trace ends here: {}", format::words(kind)),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Balances {
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    address: String,
    balance: Option<Balance>,
}

#[derive(Deserialize)]
struct Balance {
    confirmed_sats: i64,
}

impl Balances {
    /// The confirmed balance of an address; `None` if its row has an error.
    pub(super) fn of(&self, address: &str) -> Option<i64> {
        let row = self.results.iter().find(|row| row.address == address)?;
        Some(row.balance.as_ref()?.confirmed_sats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_stops_where_it_is_not_passed_on() {
        let boxes = ["a", "b", "c", "fee", "payer"].map(|id| Reached {
            id,
            kind: if id == "fee" { "fee" } else { "address" },
            address: (id != "fee").then_some(id),
        });
        let payments = [("a", "b", 100), ("b", "c", 60), ("b", "a", 5), ("a", "fee", 1), ("payer", "a", 500)];
        let payments = payments.map(|(source, target, sats)| Paid { source, target, sats });
        let (stops, further) = stops("a", &boxes, &payments);
        let found: Vec<_> = stops.iter().map(|stop| (stop.id.as_str(), stop.arrived, stop.rest)).collect();
        assert_eq!((found, further), (vec![("c", 60, 60), ("b", 100, 35), ("fee", 1, 1)], 0));
        let states: Vec<_> = stops.iter().map(|stop| stop.state(Some(50))).collect();
        let less = "holds less: a part moved on, outside the drawing";
        assert_eq!(states, [less, "holds at least as much", "fees of miners"]);
    }

    #[test]
    fn stops_are_bounded() {
        let ids: Vec<String> = (0..30).map(|at| format!("n{at}")).collect();
        let boxes: Vec<_> = ids.iter().map(|id| Reached { id, kind: "address", address: Some(id) }).collect();
        let payments: Vec<_> = ids.iter().map(|id| Paid { source: "a", target: id, sats: 1 }).collect();
        let (stops, further) = stops("a", &boxes, &payments);
        assert_eq!((stops.len(), further), (MAX_STOPS, 10));
    }

    #[test]
    fn broken_rows_have_no_balance() {
        let text = r#"{"results":[{"address":"a","balance":{"confirmed_sats":3}},{"address":"b","error":{}}]}"#;
        let balances: Balances = serde_json::from_str(text).unwrap();
        assert_eq!((balances.of("a"), balances.of("b"), balances.of("c")), (Some(3), None, None));
    }
}
