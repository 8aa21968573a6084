//! Flows of exchanges by hand: of one script and one block at a time.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use bitcoin::{ScriptBuf, Transaction};
use cairn_domain::{
    claims::{At, Stated, membership, short_label},
    entities::shown_category,
};
use cairn_events::{Category, DocumentHash, EntityName, Slug};
use cairn_model::{TxNum, day_of, is_unspendable};
use cairn_reader::{AsOf, ClaimWalk, EntityRow, ListClaims, SUSPECT_TRANSACTIONS, View};
use cairn_tables::{
    claims::ListVersion,
    clusters::{ClusterRow, Clusters},
    exchange_flows::{FlowMode, FlowSum},
    labels::ScriptHash,
    sums::Sums,
};
use cairn_testkit::Oracle;

use crate::{labels_by_hand::hash, late::rows};

/// The entities that are exchanges by most of their labels, as of now.
pub(crate) fn exchanges(view: &View<'_>) -> BTreeMap<EntityName, EntityRow> {
    let rows = view.entities().list(None, 1_000).unwrap().into_iter();
    let exchanges = rows.filter(|row| shown_category(&row.categories) == Some(Category::Exchange));
    exchanges.map(|row| (row.name.clone(), row)).collect()
}

/// Entity to which a script belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Whose {
    pub(crate) entity: EntityName,
    /// By claims of how many scripts of its cluster; 0: by its own.
    pub(crate) heirs: usize,
    /// When the index received the first document that says so; `None` if that does not matter.
    pub(crate) received_at: Option<u32>,
}

/// The owners of the scripts of exchanges.
pub(crate) type Owners = BTreeMap<ScriptBuf, Whose>;

/// As of now.
pub(crate) fn latest(view: &View<'_>, oracle: &Oracle) -> Owners {
    let exchanges = exchanges(view);
    let mut owners = Owners::new();
    for script in oracle.scripts() {
        let id = view.scripts().find(script.as_bytes()).unwrap().unwrap().id;
        let Some(owner) = view.labels().standings(&[id]).unwrap().remove(0).owner else { continue };
        if exchanges.contains_key(&owner.entity) {
            let whose = Whose { entity: owner.entity, heirs: 0, received_at: None };
            owners.insert(script.clone(), whose);
        }
    }
    owners
}

type Said = Vec<(DocumentHash, ListClaims)>;

fn stated<'s>(said: &'s Said, licence: &'s Slug, inherited: bool) -> impl Iterator<Item = Stated<'s>> {
    let of_list = move |(document, of): &'s (DocumentHash, ListClaims)| {
        of.claims.iter().map(move |claim| Stated {
            claim,
            source: &of.list.source,
            licence,
            document,
            retrieved_at: of.version.retrieved_at,
            ended_at: of.ended_at,
            is_contested: of.is_contested(claim),
            inherited,
        })
    };
    said.iter().flat_map(of_list)
}

/// Decides owners from the claims by a time.
struct Judge<'v> {
    view: &'v View<'v>,
    walk: RefCell<ClaimWalk<'v>>,
    exchanges: BTreeMap<EntityName, EntityRow>,
    licence: Slug,
    /// Clusters that merges of two large ones merged into others, and the transactions that did.
    suspects: Vec<(TxNum, TxNum)>,
    /// Read before: the claims about a script by a time; the entities that claims of control name about a script, with
    /// the times at which their documents were received; the scripts of a cluster that had claims for the others.
    said: RefCell<HashMap<(ScriptHash, u32), Rc<Said>>>,
    named: RefCell<HashMap<ScriptHash, Rc<Vec<(EntityName, u32)>>>>,
    claimed: RefCell<HashMap<(TxNum, u32), Rc<Vec<ScriptHash>>>>,
}

impl<'v> Judge<'v> {
    fn new(view: &'v View<'v>) -> Self {
        let clusters = rows::<Clusters>(view).into_iter();
        let suspects = clusters.filter_map(|(child, row)| match row {
            ClusterRow::Merged { by, counts, .. } if counts.transactions >= SUSPECT_TRANSACTIONS => Some((child, by)),
            _ => None,
        });
        Judge {
            view,
            walk: RefCell::new(view.claims().walk().unwrap()),
            exchanges: exchanges(view),
            licence: "x".parse().unwrap(),
            suspects: suspects.collect(),
            said: RefCell::default(),
            named: RefCell::default(),
            claimed: RefCell::default(),
        }
    }

    fn said(&self, script: &ScriptHash, time: u32) -> Rc<Said> {
        let read = || {
            let lists = self.walk.borrow_mut().of(&script.0, Some(time)).unwrap().lists;
            let document = |of: &ListClaims| self.view.claims().document(&of.version).unwrap().unwrap();
            Rc::new(lists.into_iter().map(|of| (document(&of).provenance.document, of)).collect())
        };
        Rc::clone(self.said.borrow_mut().entry((*script, time)).or_insert_with(read))
    }

    fn named(&self, script: &ScriptHash) -> Rc<Vec<(EntityName, u32)>> {
        let read = || {
            let rows = self.walk.borrow_mut().rows(&script.0).unwrap();
            let control = rows.into_iter().filter(|(_, claim)| claim.claim_type.makes_members());
            let received_at = |of: &ListVersion| self.view.claims().document(of).unwrap().unwrap().received_at;
            Rc::new(control.filter_map(|(key, claim)| Some((claim.entity?, received_at(&key.version)))).collect())
        };
        Rc::clone(self.named.borrow_mut().entry(*script).or_insert_with(read))
    }

    /// Scripts of a cluster with claims for the others as of a block, one more than count if there are more.
    fn claimed(&self, root: TxNum, at: AsOf) -> Rc<Vec<ScriptHash>> {
        let read = || Rc::new(self.view.clusters().claimed_parts(root, at, 16).unwrap().own);
        Rc::clone(self.claimed.borrow_mut().entry((root, at.height)).or_insert_with(read))
    }

    /// When the index received the first document with a claim of control that names an entity for one of the scripts.
    fn received_at(&self, scripts: &[ScriptHash], entity: &EntityName) -> Option<u32> {
        let named = scripts.iter().map(|script| self.named(script));
        let times = named.filter_map(|named| named.iter().filter(|(of, _)| of == entity).map(|(_, at)| *at).min());
        times.min()
    }

    /// The owner of a script as of a block.
    fn whose(&self, oracle: &Oracle, script: &ScriptBuf, height: u32) -> Option<Whose> {
        let (time, own) = (oracle.monotone_time(height), hash(script.as_bytes()));
        let at = At::time(time);
        let said = self.said(&own, time);
        let claims: Vec<Stated<'_>> = stated(&said, &self.licence, false).collect();
        let label = short_label(&claims, at);
        if label.is_some_and(|label| label.entity.is_some() && label.best.level() > 0) {
            let entity = membership(&claims, at)?.entity.clone();
            let received_at = self.received_at(&[own], &entity);
            return self.exchanges.contains_key(&entity).then_some(Whose { entity, heirs: 0, received_at });
        }
        let id = self.view.scripts().find(script.as_bytes()).unwrap().unwrap().id;
        let as_of = self.view.as_of(height).unwrap();
        let root = self.view.clusters().of_script(id, as_of).unwrap().root?;
        let is_of = |(child, by): &(TxNum, TxNum)| {
            *by < as_of.tx_end && self.view.clusters().of_node(*child, as_of).unwrap().unwrap().0 == root
        };
        if self.suspects.iter().any(is_of) {
            return None;
        }
        let claimed = self.claimed(root.0, as_of);
        let heirs = claimed.len();
        let scripts = &claimed[..heirs.min(16)];
        let said: Vec<Rc<Said>> = scripts.iter().map(|script| self.said(script, time)).collect();
        let claims: Vec<Stated<'_>> = said.iter().flat_map(|said| stated(said, &self.licence, true)).collect();
        let entity = membership(&claims, at)?.entity.clone();
        let received_at = self.received_at(scripts, &entity);
        self.exchanges.contains_key(&entity).then_some(Whose { entity, heirs, received_at })
    }
}

/// As of each block, with all that it shows.
pub(crate) fn point_in_time(view: &View<'_>, oracle: &Oracle) -> Vec<Owners> {
    let judge = Judge::new(view);
    let of_block = |height: u32| {
        let seen = oracle.scripts().filter(|script| oracle.history(script)[0].height <= height);
        seen.filter_map(|script| Some((script.clone(), judge.whose(oracle, script, height)?))).collect()
    };
    (0..oracle.blocks().len() as u32).map(of_block).collect()
}

/// Balance of all scripts of each exchange after a block.
pub(crate) fn held(oracle: &Oracle, owners: &Owners, height: u32) -> BTreeMap<EntityName, i128> {
    let mut held = BTreeMap::new();
    for (script, whose) in owners {
        *held.entry(whose.entity.clone()).or_default() += i128::from(oracle.balance_at(script, height));
    }
    held.retain(|_, sats| *sats != 0);
    held
}

/// Sums in the order of their positions.
pub(crate) type Nine = [i128; 9];

/// Flows by exchange and by something else: days, or heights.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Flows(pub(crate) BTreeMap<(Option<EntityName>, u32), Nine>);

impl Flows {
    pub(crate) fn add(&mut self, of: Option<&EntityName>, key: u32, sum: FlowSum, sats: i128) {
        self.0.entry((of.cloned(), key)).or_default()[sum as usize] += sats;
    }

    /// The same for the exchange and for all together.
    pub(crate) fn add_both(&mut self, of: &EntityName, key: u32, sum: FlowSum, sats: i128) {
        self.add(Some(of), key, sum, sats);
        self.add(None, key, sum, sats);
    }

    /// Rows that are not zero.
    pub(crate) fn sums(&self) -> BTreeMap<(Option<EntityName>, u32), Sums> {
        let sums = |nine: &Nine| Sums::of((0..).zip(nine.iter().copied())).unwrap();
        let rows = self.0.iter().map(|(key, nine)| (key.clone(), sums(nine)));
        rows.filter(|(_, sums)| !sums.is_zero()).collect()
    }

    /// Moves the balance, before this block, of each script that has another owner since.
    fn reclassify(&mut self, oracle: &Oracle, height: u32, key: u32, before: &Owners, now: &Owners) {
        let scripts: BTreeSet<&ScriptBuf> = before.keys().chain(now.keys()).collect();
        for script in scripts {
            let [was, is] = [before, now].map(|owners| owners.get(script).map(|whose| &whose.entity));
            if was != is && height > 0 {
                let sats = i128::from(oracle.balance_at(script, height - 1));
                was.inspect(|was| self.add_both(was, key, FlowSum::Reclassified, -sats));
                is.inspect(|is| self.add_both(is, key, FlowSum::Reclassified, sats));
            }
        }
    }

    /// Adds a transaction.
    fn transaction(&mut self, oracle: &Oracle, at: (TxNum, u32, &Transaction), owners: &Owners, key: u32) {
        let (tx_num, height, tx) = at;
        let day = day_of(oracle.monotone_time(height));
        let coins = oracle.spent(tx_num);
        // Coins that a coinbase overwrites are gone as if it had spent them.
        let gone = oracle.overwritten().iter().filter(|(at, _)| tx.is_coinbase() && *at == height);
        let sent = coins.iter().chain(gone.map(|(_, coin)| coin)).map(|coin| (&coin.script, coin.value_sats, 0));
        let outputs = tx.output.iter().filter(|output| !is_unspendable(output.script_pubkey.as_bytes()));
        let received = outputs.map(|output| (&output.script_pubkey, output.value.to_sat(), 1));
        // Of each exchange: what it sends and receives, and how much of both counts by documents that came later.
        let mut parts: BTreeMap<&EntityName, ([u64; 2], [u64; 2])> = BTreeMap::new();
        for (script, sats, side) in sent.chain(received) {
            let Some(whose) = owners.get(script) else { continue };
            let (all, late) = parts.entry(&whose.entity).or_default();
            all[side] += sats;
            if whose.received_at.is_some_and(|at| day_of(at) > day) {
                late[side] += sats;
            }
        }
        if parts.is_empty() {
            return;
        }
        let fee = u128::from(oracle.txs()[tx_num.0 as usize].fee_sats);
        let inputs: u128 = coins.iter().map(|coin| u128::from(coin.value_sats)).sum();
        let (mut inflows, mut outflows): (BTreeMap<&EntityName, u64>, BTreeMap<&EntityName, u64>) = Default::default();
        self.add(None, key, FlowSum::Transactions, 1);
        for (of, ([i, o], [late_i, late_o])) in parts {
            let share = if fee == 0 { 0 } else { fee * u128::from(i) / inputs };
            let (inflow, left) = (o.saturating_sub(i), i.saturating_sub(o));
            let fee = u64::try_from(share).unwrap().min(left);
            let outflow = left - fee;
            inflows.insert(of, inflow);
            outflows.insert(of, outflow);
            self.add(Some(of), key, FlowSum::Transactions, 1);
            self.add_both(of, key, FlowSum::Inflow, inflow.into());
            self.add_both(of, key, FlowSum::Outflow, outflow.into());
            self.add_both(of, key, FlowSum::Internal, i.min(o).into());
            self.add_both(of, key, FlowSum::Fees, fee.into());
            self.add_both(of, key, FlowSum::Backfilled, (inflow.min(late_o) + outflow.min(late_i)).into());
        }
        let [all_in, all_out] =
            [&inflows, &outflows].map(|flows| flows.values().copied().map(i128::from).sum::<i128>());
        let between = all_in.min(all_out);
        for (flows, sum, all) in
            [(&inflows, FlowSum::FromExchanges, all_in), (&outflows, FlowSum::ToExchanges, all_out)]
        {
            self.add(None, key, sum, between);
            for (of, sats) in flows.iter().filter(|(_, sats)| **sats > 0) {
                self.add(Some(of), key, sum, i128::from(*sats) * between / all);
            }
        }
    }

    /// The flows of all blocks by day, if scripts were whose they are as of each block.
    pub(crate) fn by_day(oracle: &Oracle, owners: &[Owners]) -> Self {
        let mut flows = Flows::default();
        let day = |height: u32| day_of(oracle.monotone_time(height));
        for (height, pair) in (1..).zip(owners.windows(2)) {
            flows.reclassify(oracle, height, day(height), &pair[0], &pair[1]);
        }
        // Genesis makes no coin.
        let tip = oracle.tip().unwrap().0;
        for (tx_num, height, tx) in oracle.transactions(tip).filter(|(_, height, _)| *height > 0) {
            flows.transaction(oracle, (tx_num, height, tx), &owners[height as usize], day(height));
        }
        flows
    }

    /// The flows of the blocks above a height, by height.
    pub(crate) fn by_block(oracle: &Oracle, owners: &Owners, above: u32) -> Self {
        let mut flows = Flows::default();
        let tip = oracle.tip().unwrap().0;
        for (tx_num, height, tx) in oracle.transactions(tip).filter(|(_, height, _)| *height > above) {
            flows.transaction(oracle, (tx_num, height, tx), owners, height);
        }
        flows
    }
}

/// Change of the held balance: inflow, minus outflow and fees, plus the reclassified sum.
pub(crate) fn change(sums: &Sums) -> i128 {
    let of = |sum: FlowSum| sums.get(sum.position());
    of(FlowSum::Inflow) - of(FlowSum::Outflow) - of(FlowSum::Fees) + of(FlowSum::Reclassified)
}

/// Fails unless what each exchange held, as the blocks have it, changes from one end of day to the next by the sums of
/// the day.
pub(crate) fn assert_balanced(
    oracle: &Oracle,
    owners: &[Owners],
    rows: &BTreeMap<(Option<EntityName>, u32), Sums>,
    what: &str,
) {
    let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
    ends.extend((0..owners.len() as u32).map(|height| (day_of(oracle.monotone_time(height)), height)));
    let names: BTreeSet<&EntityName> = rows.keys().filter_map(|(of, _)| of.as_ref()).collect();
    let mut before: BTreeMap<EntityName, i128> = BTreeMap::new();
    for (day, end) in ends {
        let now = held(oracle, &owners[end as usize], end);
        assert!(now.keys().all(|of| names.contains(of)), "{what}: day {day}: {now:?} of {names:?}");
        for of in &names {
            let changed = rows.get(&(Some((*of).clone()), day)).map_or(0, change);
            let [was, is] = [&before, &now].map(|held| held.get(*of).copied().unwrap_or_default());
            assert_eq!(is - was, changed, "{what}: {of} on day {day}");
        }
        before = now;
    }
}

/// Both modes.
pub(crate) fn all_owners(view: &View<'_>, oracle: &Oracle) -> [(FlowMode, Vec<Owners>); 2] {
    let now = vec![latest(view, oracle); oracle.blocks().len()];
    [(FlowMode::Latest, now), (FlowMode::PointInTime, point_in_time(view, oracle))]
}
