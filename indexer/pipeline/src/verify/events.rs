//! Compares the ledger of input events with the tables that follow from it.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use cairn_events::{ContestAct, DocumentHash, Listed, Listing, Provenance, Slug, choose};
use cairn_reader::{ReadError, Versions, View, last_seq_of};
use cairn_tables::{
    Table,
    claims::{ClaimLists, Claims, ListDocument, ListSize},
    contests::Contests,
    encode_key, encode_value,
    events::{Candle, DocumentState, Documents, EventRow, Events, QuoteVersion, QuoteVersions, Quotes},
    listings::{ListingTable, PoolTags, Profiles},
};

use super::{Check, damage::Damages};
use crate::{
    PipelineError,
    ledger::{claim_key, contest_key, contest_state, list_document, list_size, listing_key, newest, prefix},
};

const NAME: &str = "quotes, claims, contests, tags of pools and profiles match the ledger";

/// The tables that are compared.
const LEDGER: [&str; 9] = [
    Events::NAME,
    Documents::NAME,
    QuoteVersions::NAME,
    Quotes::NAME,
    Claims::NAME,
    ClaimLists::NAME,
    PoolTags::NAME,
    Profiles::NAME,
    Contests::NAME,
];

/// Sum of rows: equal for equal rows, in whatever order they are added.
#[derive(Default, PartialEq, Eq)]
struct Sum(u64);

impl Sum {
    fn add<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        let mut hasher = DefaultHasher::new();
        (encode_key::<T>(key), encode_value::<T>(value)).hash(&mut hasher);
        self.0 = self.0.wrapping_add(hasher.finish());
    }

    fn add_list<T: ListingTable>(&mut self, provenance: &Provenance, list: &Slug, rows: &[T::Value]) {
        rows.iter().for_each(|row| self.add::<T>(&listing_key(provenance, list, row.row()), row));
    }
}

/// Compares them. Unreadable rows are damage of their own, and are not compared.
pub(crate) fn audit(view: &View<'_>, damages: &mut Damages) -> Result<Check, PipelineError> {
    let unread = damages.listed.iter().any(|damage| LEDGER.contains(&damage.place.as_str()));
    if unread {
        return Ok(Check { name: NAME, ok: false, detail: "rows cannot be read".to_owned() });
    }
    match compare(view) {
        Ok(detail) => Ok(Check { name: NAME, ok: true, detail }),
        Err(Ended::Differs(table, detail)) => {
            damages.differs(table, detail.clone());
            Ok(Check { name: NAME, ok: false, detail })
        }
        Err(Ended::Unread(error)) => {
            let detail = error.to_string();
            damages.take(error, Events::NAME, None)?;
            Ok(Check { name: NAME, ok: false, detail })
        }
    }
}

/// Why a comparison ended.
enum Ended {
    /// The first table that differs, and how.
    Differs(&'static str, String),
    Unread(ReadError),
}

impl From<ReadError> for Ended {
    fn from(error: ReadError) -> Self {
        Ended::Unread(error)
    }
}

fn differs<V>(table: &'static str, what: impl Into<String>) -> Result<V, Ended> {
    Err(Ended::Differs(table, what.into()))
}

/// A document, with the rows of it that are still to come.
type OpenDocument = Option<(u64, EventRow, u64)>;

/// Where the open document comes from, of which these rows are.
fn provenance_of(open: &mut OpenDocument, seq: u64, document: u64, rows: u64) -> Result<&Provenance, Ended> {
    match open {
        Some((of, EventRow::Document { provenance, .. }, left)) => match left.checked_sub(rows) {
            Some(rest) if *of == document => {
                *left = rest;
                Ok(provenance)
            }
            _ => differs(Events::NAME, format!("event {seq} does not belong to the document before it")),
        },
        _ => differs(Events::NAME, format!("event {seq} belongs to no document")),
    }
}

/// Returns the number of quotes that hold.
fn compare_quotes(view: &View<'_>, expected: &Sum) -> Result<u64, Ended> {
    let (mut found, mut chosen) = (Sum::default(), Sum::default());
    let mut candle: Option<(Candle, Versions)> = None;
    let mut close = |candle: Option<(Candle, Versions)>| {
        if let Some((candle, versions)) = candle
            && let Some(quote) = choose(&newest(&versions))
        {
            chosen.add::<Quotes>(&candle, &quote);
        }
    };
    for row in view.scan::<QuoteVersions>(None)? {
        let (version, quote) = row?;
        found.add::<QuoteVersions>(&version, &quote);
        if candle.as_ref().is_none_or(|(of, _)| *of != version.candle) {
            close(candle.replace((version.candle, Versions::new())));
        }
        if let Some((_, versions)) = &mut candle {
            versions.entry(version.source).or_default().push((version.retrieved_at, version.document, quote));
        }
    }
    close(candle);
    if found != *expected {
        return differs(QuoteVersions::NAME, "it has other rows than the ledger");
    }
    compare_rows::<Quotes>(view, &chosen, "it has other quotes than follow from the ledger")
}

/// Returns the number of rows of a table.
fn compare_rows<T: Table>(view: &View<'_>, expected: &Sum, difference: &str) -> Result<u64, Ended> {
    let (mut count, mut stored) = (0u64, Sum::default());
    for row in view.scan::<T>(None)? {
        let (key, value) = row?;
        stored.add::<T>(&key, &value);
        count += 1;
    }
    if stored == *expected { Ok(count) } else { differs(T::NAME, difference) }
}

/// Returns the text for the check.
fn compare(view: &View<'_>) -> Result<String, Ended> {
    let states = view.scan::<Documents>(None)?.collect::<Result<BTreeMap<DocumentHash, DocumentState>, _>>()?;
    let is_withdrawn = |hash: &DocumentHash| states.get(hash).is_some_and(|state| state.withdrawn != 0);
    let mut expected = Sum::default();
    let (mut claims, mut lists) = (Sum::default(), BTreeMap::<ListDocument, ListSize>::new());
    let (mut tags, mut profiles, mut contests) = (Sum::default(), Sum::default(), Sum::default());
    let mut open: OpenDocument = None;
    let (mut next, mut named, mut documents) = (1, 0, 0u64);
    for row in view.scan::<Events>(None)? {
        let (seq, row) = row?;
        if seq != next {
            return differs(Events::NAME, format!("event {next} is missing"));
        }
        next = last_seq_of(seq, &row) + 1;
        let left = open.as_ref().map_or(0, |(.., left)| *left);
        match &row {
            EventRow::Document { .. } | EventRow::Withdrawal { .. } | EventRow::Contest { .. } if left > 0 => {
                return differs(Events::NAME, format!("{left} rows of a document are missing before event {seq}"));
            }
            EventRow::Document { provenance, rows, .. } => {
                documents += 1;
                named += u64::from(states.get(&provenance.document).is_some_and(|state| state.seq == seq));
                open = Some((seq, row.clone(), u64::from(*rows)));
            }
            EventRow::Withdrawal { provenance, document, .. } => {
                documents += 1;
                let is_listed = states.get(&provenance.document).is_some_and(|state| state.seq == seq);
                named += u64::from(is_listed && is_withdrawn(document));
                open = None;
            }
            EventRow::Contest { provenance, contest, .. } => {
                documents += 1;
                let state = states.get(&provenance.document).copied().unwrap_or_default();
                named += u64::from(state.seq == seq);
                open = None;
                if state.withdrawn == 0 || contest.act == ContestAct::Redacts {
                    contests.add::<Contests>(&contest_key(provenance, contest), &contest_state(contest));
                }
            }
            EventRow::Quotes { document, rows, .. } => {
                let provenance = provenance_of(&mut open, seq, *document, rows.len() as u64)?;
                if is_withdrawn(&provenance.document) {
                    continue;
                }
                for row in rows {
                    let version = QuoteVersion {
                        candle: Candle { series: row.series, closes_at: row.closes_at },
                        source: provenance.source.clone(),
                        retrieved_at: provenance.retrieved_at,
                        document: prefix(&provenance.document),
                    };
                    expected.add::<QuoteVersions>(&version, &row.quote);
                }
            }
            EventRow::Claims { document, list, claims: rows, .. } => {
                let provenance = provenance_of(&mut open, seq, *document, rows.len() as u64)?;
                if is_withdrawn(&provenance.document) {
                    continue;
                }
                let of = list_document(provenance, list);
                let size = list_size(lists.get(&of).copied(), rows);
                lists.insert(of, size);
                let said = rows.iter().filter(|claim| !claim.is_redacted);
                said.for_each(|claim| claims.add::<Claims>(&claim_key(provenance, list, claim), claim));
            }
            EventRow::Listing { document, list, rows, .. } => {
                let provenance = provenance_of(&mut open, seq, *document, rows.len() as u64)?;
                if is_withdrawn(&provenance.document) {
                    continue;
                }
                match rows {
                    Listing::PoolTags(rows) => tags.add_list::<PoolTags>(provenance, list, rows),
                    Listing::Profiles(rows) => profiles.add_list::<Profiles>(provenance, list, rows),
                }
            }
        }
    }
    if open.is_some_and(|(.., left)| left > 0) {
        return differs(Events::NAME, "rows of the last document are missing");
    }
    if view.tip().seq != next - 1 {
        let what = format!("the newest event is {}, and the checkpoint says {}", next - 1, view.tip().seq);
        return differs(Events::NAME, what);
    }
    let come = states.values().filter(|state| state.seq != 0).count() as u64;
    if named != documents || come != documents {
        return differs(Documents::NAME, format!("{documents} documents are in the ledger, and {come} are listed"));
    }
    let rows = compare_quotes(view, &expected)?;
    if view.scan::<ClaimLists>(None)?.collect::<Result<BTreeMap<_, _>, _>>()? != lists {
        return differs(ClaimLists::NAME, "it has other documents than the ledger");
    }
    let said = compare_rows::<Claims>(view, &claims, "it has other claims than the ledger")?;
    let known = compare_rows::<PoolTags>(view, &tags, "it has other tags than the ledger")?;
    let profiled = compare_rows::<Profiles>(view, &profiles, "it has other profiles than the ledger")?;
    let contested = compare_rows::<Contests>(view, &contests, "it has other contests than the ledger")?;
    Ok(format!(
        "{documents} documents, {} events, {rows} quotes, {said} claims, {known} tags of pools, {profiled} profiles, {contested} contests",
        next - 1
    ))
}
