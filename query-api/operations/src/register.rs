//! All entities, for lists of them and for their other names: kept from request to request, since they change only with
//! a block or a document.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
    thread::sleep,
    time::{Duration, Instant},
};

use cairn_domain::entities::{Evidence, Order, Rank, is_person, shown_category, shown_name};
use cairn_events::{Category, EntityName};
use cairn_http::Work;
use cairn_model::{Sats, TxNum};
use cairn_reader::{EntityRow, ReadError, Reader, Tip, View};
use cairn_tables::{
    claims::{ClaimLists, ListDocument, ListKey, ListVersion},
    entities::{EntityFacet, EntityFacets, FacetKind, ScriptClass},
};
use parking_lot::Mutex;

pub(crate) const MAX_ENTITIES: usize = 50_000;
/// Most names of an entity, as people write them, that are looked at.
pub(crate) const MAX_NAMES: usize = 32;
pub(crate) const MAX_ORIGINS: usize = 64;
/// Most lists of an entity itself that are looked at.
pub(crate) const MAX_OWN_LISTS: usize = 16;
const MAX_DOCUMENTS: usize = 10_000;
/// Rows of other entities that are stepped over before a search is cheaper.
const STEPS: usize = 16;
const AT_A_TIME: usize = 1_000;
/// While documents are being worked in, the entities change without a block: they are read again after this time.
const PENDING_FOR: Duration = Duration::from_secs(2);
/// Time between two looks at whether another request has read them.
const WAIT: Duration = Duration::from_millis(5);

/// An entity that is not a natural person.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: EntityName,
    /// Its name as people write it.
    pub(crate) shown: Box<str>,
    /// Its category; `None` if no source gives one.
    pub(crate) category: Option<Category>,
    /// The facts from which its coverage follows.
    pub(crate) evidence: Evidence,
    /// Scripts that are only named.
    pub(crate) named: u64,
    /// Direct and inherited balance.
    pub(crate) balance: Sats,
    /// The newest transaction of a member; `None` if the chain has none.
    pub(crate) last: Option<TxNum>,
}

#[derive(Debug)]
pub(crate) struct Register {
    tip: Tip,
    made: Instant,
    /// True if documents were being worked in.
    pub(crate) is_pending: bool,
    /// True if there are more entities than are listed.
    pub(crate) is_cut: bool,
    /// Ascending by name.
    entries: Vec<Entry>,
    /// Positions of the entries, sorted in each order.
    orders: [Vec<u32>; Order::ALL.len()],
    /// Position of the entry that a name stands for, unless an entity has this name itself.
    aliases: HashMap<EntityName, u32>,
}

impl Register {
    /// The entities, ascending by name.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn sorted(&self, order: Order) -> impl Iterator<Item = &Entry> {
        let at = Order::ALL.iter().position(|of| *of == order).and_then(|at| self.orders.get(at));
        at.into_iter().flatten().filter_map(|at| self.entries.get(*at as usize))
    }

    /// The entity that is written like this by people.
    pub(crate) fn alias(&self, name: &EntityName) -> Option<&Entry> {
        self.entries.get(*self.aliases.get(name)? as usize)
    }

    fn read(view: &View<'_>, work: &Work) -> Result<Self, ReadError> {
        let is_pending = !view.labels().are_settled()?;
        let mut facets = Facets::at(view, None)?;
        let mut own_lists = OwnLists::of(view);
        let (mut entries, mut written) = (Vec::new(), Vec::new());
        let (mut after, mut seen) = (None, 0);
        let is_cut = loop {
            let mut rows = view.entities().list(after.as_ref(), 1 + AT_A_TIME.min(MAX_ENTITIES - seen))?;
            // The walk goes on with the last one that was read.
            rows.retain(|row| Some(&row.name) != after.as_ref());
            seen += rows.len();
            let Some(last) = rows.last() else { break false };
            after = Some(last.name.clone());
            for row in &rows {
                work.poll()?;
                let texts = facets.texts_of(&row.name)?;
                if !is_a_person(row) {
                    entries.push(entry(view, row, &texts, &mut own_lists)?);
                    written.push(texts.names);
                }
            }
            if seen >= MAX_ENTITIES {
                break view.entities().list(after.as_ref(), 2)?.len() > 1;
            }
        };
        let orders = Order::ALL.map(|order| {
            let mut sorted: Vec<u32> = (0..entries.len() as u32).collect();
            let rank = |at: &u32| entries.get(*at as usize).map(Entry::rank);
            sorted.sort_unstable_by(|a, b| match (rank(a), rank(b)) {
                (Some(a), Some(b)) => a.compare(&b, order),
                _ => a.cmp(b),
            });
            sorted
        });
        let aliases = aliases(&entries, &written);
        Ok(Register { tip: *view.tip(), made: Instant::now(), is_pending, is_cut, entries, orders, aliases })
    }

    /// True if it is that of a view with this tip.
    fn is_of(&self, tip: &Tip, is_pending: bool) -> bool {
        let same = (self.tip.hash, self.tip.seq, self.is_pending) == (tip.hash, tip.seq, is_pending);
        same && (!is_pending || self.made.elapsed() < PENDING_FOR)
    }
}

impl Entry {
    fn rank(&self) -> Rank<'_> {
        Rank {
            balance: self.balance,
            members: self.evidence.members,
            last: self.last.map(|last| last.0),
            name: self.name.as_str(),
        }
    }
}

/// True if an entity counts as a natural person.
pub(crate) fn is_a_person(row: &EntityRow) -> bool {
    is_person(row.persons, row.members.saturating_add(row.named))
}

/// The newest transaction of a member of an entity.
pub(crate) fn last_of(view: &View<'_>, name: &EntityName) -> Result<Option<TxNum>, ReadError> {
    let newest = view.entities().scripts(name, ScriptClass::Member, None, 1)?;
    Ok(newest.first().and_then(|script| script.last.0))
}

fn entry(view: &View<'_>, row: &EntityRow, texts: &Texts, lists: &mut OwnLists<'_>) -> Result<Entry, ReadError> {
    Ok(Entry {
        name: row.name.clone(),
        shown: shown_name(&row.name, &texts.names).into(),
        category: shown_category(&row.categories),
        evidence: Evidence {
            members: row.members,
            origins: texts.origins,
            own_list_at: lists.newest(&texts.own_lists)?,
        },
        named: row.named,
        balance: row.balance(),
        last: if row.seen == 0 { None } else { last_of(view, &row.name)? },
    })
}

/// Maps names as people write them to entities. If two entities are written alike, the one with more such scripts
/// counts, then the first by name.
fn aliases(entries: &[Entry], written: &[Vec<(String, u64)>]) -> HashMap<EntityName, u32> {
    let mut found: HashMap<EntityName, (u64, u32)> = HashMap::new();
    for (at, names) in (0..).zip(written) {
        for (text, scripts) in names {
            let Some(alias) = EntityName::from_words(text) else { continue };
            if entries.binary_search_by(|entry| entry.name.cmp(&alias)).is_ok() {
                continue;
            }
            let best = found.entry(alias).or_insert((*scripts, at));
            if *scripts > best.0 {
                *best = (*scripts, at);
            }
        }
    }
    found.into_iter().map(|(alias, (_, at))| (alias, at)).collect()
}

#[derive(Debug, Default)]
struct Texts {
    /// Names as people write them, each with its scripts.
    names: Vec<(String, u64)>,
    origins: u64,
    own_lists: Vec<String>,
}

/// A walk over the texts of all entities.
struct Facets<'v> {
    view: &'v View<'v>,
    rows: Box<dyn Iterator<Item = Result<(EntityFacet, u64), ReadError>> + 'v>,
    next: Option<(EntityFacet, u64)>,
}

impl<'v> Facets<'v> {
    fn at(view: &'v View<'v>, from: Option<&EntityFacet>) -> Result<Self, ReadError> {
        let scripts = |sum: i128| u64::try_from(sum).unwrap_or(0);
        let rows = view.scan::<EntityFacets>(from)?;
        let mut rows = Box::new(rows.map(move |row| row.map(|(facet, sums)| (facet, scripts(sums.get(0))))));
        let next = rows.next().transpose()?;
        Ok(Facets { view, rows, next })
    }

    fn seek(&mut self, entity: &EntityName, kind: FacetKind) -> Result<(), ReadError> {
        *self = Facets::at(self.view, Some(&EntityFacet { entity: entity.clone(), kind, text: String::new() }))?;
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<(EntityFacet, u64)>, ReadError> {
        let next = self.rows.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// Those of an entity; they are asked for in ascending order. However many there are, a bounded number is read.
    fn texts_of(&mut self, entity: &EntityName) -> Result<Texts, ReadError> {
        let is_before = |next: &Option<(EntityFacet, u64)>| next.as_ref().is_some_and(|(of, _)| of.entity < *entity);
        for _ in 0..STEPS {
            if !is_before(&self.next) {
                break;
            }
            self.advance()?;
        }
        if is_before(&self.next) {
            self.seek(entity, FacetKind::Name)?;
        }
        let mut texts = Texts::default();
        while self.next.as_ref().is_some_and(|(of, _)| of.entity == *entity) {
            let Some((facet, scripts)) = self.advance()? else { break };
            match facet.kind {
                FacetKind::Name if texts.names.len() < MAX_NAMES => texts.names.push((facet.text, scripts)),
                FacetKind::Name => self.seek(entity, FacetKind::Origin)?,
                FacetKind::Origin if texts.origins < MAX_ORIGINS as u64 => texts.origins += 1,
                FacetKind::Origin => self.seek(entity, FacetKind::OwnList)?,
                FacetKind::OwnList if texts.own_lists.len() < MAX_OWN_LISTS => texts.own_lists.push(facet.text),
                FacetKind::OwnList => break,
            }
        }
        Ok(texts)
    }
}

/// When lists were last retrieved as a whole.
pub(crate) struct OwnLists<'v> {
    view: &'v View<'v>,
    known: BTreeMap<String, Option<u32>>,
}

impl<'v> OwnLists<'v> {
    pub(crate) fn of(view: &'v View<'v>) -> Self {
        OwnLists { view, known: BTreeMap::new() }
    }

    /// Returns when the newest complete document of a list was retrieved; `None` if there is none. The list is given as
    /// its source, a slash, and its name.
    pub(crate) fn complete_at(&mut self, list: &str) -> Result<Option<u32>, ReadError> {
        if let Some(known) = self.known.get(list) {
            return Ok(*known);
        }
        let key = list
            .split_once('/')
            .and_then(|(source, list)| Some(ListKey { source: source.parse().ok()?, list: list.parse().ok()? }));
        let at = key.map(|key| self.newest_of(&key)).transpose()?.flatten();
        self.known.insert(list.to_owned(), at);
        Ok(at)
    }

    /// Like `complete_at` for several lists; returns the latest.
    fn newest(&mut self, lists: &[String]) -> Result<Option<u32>, ReadError> {
        let mut newest = None;
        for list in lists {
            newest = newest.max(self.complete_at(list)?);
        }
        Ok(newest)
    }

    fn newest_of(&self, list: &ListKey) -> Result<Option<u32>, ReadError> {
        let first = ListVersion { retrieved_at: 0, document: [0; 8] };
        let from = ListDocument { list: list.clone(), is_complete: true, version: first };
        let mut newest = None;
        for row in self.view.scan::<ClaimLists>(Some(&from))?.take(MAX_DOCUMENTS) {
            let (found, _) = row?;
            if found.list != *list || !found.is_complete {
                break;
            }
            newest = Some(found.version.retrieved_at);
        }
        Ok(newest)
    }
}

/// Keeps the entities of the index that was last asked about.
#[derive(Debug, Default)]
pub(crate) struct RegisterSlot {
    kept: Mutex<Option<(Weak<Reader>, Arc<Register>)>>,
    reading: Mutex<()>,
}

impl RegisterSlot {
    /// The entities of a view, which is one of this reader. They are read again only after a block or a document, or of
    /// another reader, by one request at a time. Those rows do not count as the request's; its processor time does.
    pub(crate) fn get(&self, reader: &Arc<Reader>, view: &View<'_>, work: &Work) -> Result<Arc<Register>, ReadError> {
        let is_pending = !view.labels().are_settled()?;
        if let Some(found) = self.kept(reader, view.tip(), is_pending) {
            return Ok(found);
        }
        let _one = loop {
            if let Some(guard) = self.reading.try_lock() {
                break guard;
            }
            work.poll()?;
            sleep(WAIT);
        };
        if let Some(found) = self.kept(reader, view.tip(), is_pending) {
            return Ok(found);
        }
        let own = reader.view()?;
        let is_same = own.tip() == view.tip() && own.labels().are_settled()? != is_pending;
        let register = Arc::new(Register::read(if is_same { &own } else { view }, work)?);
        *self.kept.lock() = Some((Arc::downgrade(reader), Arc::clone(&register)));
        Ok(register)
    }

    fn kept(&self, reader: &Arc<Reader>, tip: &Tip, is_pending: bool) -> Option<Arc<Register>> {
        let kept = self.kept.lock();
        let (of, register) = kept.as_ref()?;
        let fits = std::ptr::eq(of.as_ptr(), Arc::as_ptr(reader)) && register.is_of(tip, is_pending);
        fits.then(|| Arc::clone(register))
    }
}
