//! The rows that follow from the label of one script, and changes of these rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use cairn_events::EntityName;
use cairn_model::TxNum;
use cairn_reader::{ReadError, Tie, View};
use cairn_tables::{
    DecodeError, Family, Table, ValueCodec,
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::{BelowSum, ClusterBelow, ClusterOwners, OwnersDue, OwnersRow},
    codec::Input,
    encode_key,
    entities::{
        EntityFacet, EntityFacets, EntityScript, EntityScripts, EntitySum, EntityTotals, FacetKind, Newest, ScriptClass,
    },
    label_sources::{LabelSource, LabelSources, SourceSum},
    labels::{Label, Labels, ScriptHash, ScriptLabel},
    names::{self, NameKey, Names},
    sums::{SumOverflow, Sums},
    totals::Totals,
};
use cairn_writer::{Batch, Writer};

use crate::PipelineError;

/// Sums of a script, or by how much a block changes them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ScriptSums {
    /// Satoshis that it received.
    pub(crate) funded: i128,
    /// Satoshis of its coins that were spent.
    pub(crate) spent: i128,
    /// Coins that it received.
    pub(crate) funded_count: i128,
    /// Its coins that were spent.
    pub(crate) spent_count: i128,
}

impl ScriptSums {
    /// All that a script ever did.
    pub(crate) fn of(totals: &Totals) -> Self {
        ScriptSums {
            funded: totals.funded.into(),
            spent: totals.spent.into(),
            funded_count: totals.funded_count.into(),
            spent_count: totals.spent_count.into(),
        }
    }

    pub(crate) fn plus(self, other: ScriptSums) -> Self {
        ScriptSums {
            funded: self.funded + other.funded,
            spent: self.spent + other.spent,
            funded_count: self.funded_count + other.funded_count,
            spent_count: self.spent_count + other.spent_count,
        }
    }

    /// The same with every sign changed.
    pub(crate) fn negated(self) -> Self {
        let ScriptSums { funded, spent, funded_count, spent_count } = self;
        ScriptSums { funded: -funded, spent: -spent, funded_count: -funded_count, spent_count: -spent_count }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RowKey {
    pub(crate) table: &'static str,
    family: Family,
    /// The key, with the tag of a shared family.
    pub(crate) key: Vec<u8>,
}

impl RowKey {
    fn of<T: Table>(key: &T::Key) -> Self {
        RowKey { table: T::NAME, family: T::FAMILY, key: encode_key::<T>(key) }
    }
}

/// The rows that follow from a label, besides its own.
#[derive(Default, Debug)]
pub(crate) struct Rows {
    /// Rows without a value.
    pub(crate) keys: Vec<RowKey>,
    pub(crate) sums: Vec<(RowKey, Sums)>,
    /// Rows of sums that no other script adds to.
    pub(crate) own: Vec<(RowKey, Sums)>,
}

impl Rows {
    fn key<T: Table<Value = ()>>(&mut self, key: &T::Key) {
        self.keys.push(RowKey::of::<T>(key));
    }

    fn add<T: Table<Value = Sums>>(
        &mut self,
        key: &T::Key,
        sums: impl IntoIterator<Item = (u32, i128)>,
    ) -> Result<(), SumOverflow> {
        self.sums.push((RowKey::of::<T>(key), Sums::of(sums)?));
        Ok(())
    }

    fn facet(&mut self, entity: &EntityName, kind: FacetKind, text: &str) -> Result<(), SumOverflow> {
        self.add::<EntityFacets>(&EntityFacet::new(entity.clone(), kind, text), [(0, 1)])
    }

    /// Adds the rows that follow from the place in the forest of clusters.
    fn of_node(
        &mut self,
        hash: &ScriptHash,
        (node, path): (TxNum, Option<&[Tie]>),
        label: &ScriptLabel,
        moved: &ScriptSums,
    ) -> Result<(), SumOverflow> {
        if label.is_heritable {
            self.key::<ClaimNodes>(&(node, *hash));
            for tie in path.unwrap_or_default() {
                self.add::<ClaimChildren>(&claim_child(tie), [(SCRIPTS_BELOW, 1)])?;
            }
        }
        if let Some(path) = path.filter(|_| label.names_somebody()) {
            for node in at_and_above(node, path) {
                self.add::<ClusterBelow>(&node, left_out(1, moved))?;
            }
        }
        Ok(())
    }

    /// Adds the rows that both members and scripts that are only named have.
    fn entity(
        &mut self,
        hash: &ScriptHash,
        of: &ScriptLabel,
        entity: &EntityName,
        class: ScriptClass,
    ) -> Result<Vec<(u32, i128)>, SumOverflow> {
        let last = Newest(of.seen.map(|seen| seen.last));
        self.key::<EntityScripts>(&EntityScript { entity: entity.clone(), class, last, script: *hash });
        let mut sums = Vec::new();
        if let Some(label) = of.label.as_ref().filter(|label| label.entity.as_ref() == Some(entity)) {
            let Label { category, is_person, name, .. } = label;
            sums.push((EntitySum::Persons.position(), (*is_person).into()));
            sums.extend(category.map(|category| (EntitySum::of_category(category), 1)));
            if !name.is_empty() {
                self.facet(entity, FacetKind::Name, name)?;
            }
        }
        Ok(sums)
    }
}

/// A label, and the other data that its rows follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelledScript<'l> {
    pub(crate) label: &'l ScriptLabel,
    /// Sums of the script.
    pub(crate) moved: ScriptSums,
    /// The way from its node to the root of its cluster. `None` leaves out the rows of the forest above: what a block
    /// does to them is noted by [`forest`](super::forest).
    pub(crate) path: Option<&'l [Tie]>,
}

/// Sums that are left out of a cluster because of a script that a list attributes to an entity.
pub(crate) fn left_out(scripts: i128, moved: &ScriptSums) -> [(u32, i128); 3] {
    [
        (BelowSum::Scripts.position(), scripts),
        (BelowSum::Funded.position(), moved.funded),
        (BelowSum::Spent.position(), moved.spent),
    ]
}

pub(crate) fn claim_child(tie: &Tie) -> ClaimChild {
    ClaimChild { parent: tie.parent, by: tie.by, child: tie.child }
}

pub(crate) fn at_and_above(node: TxNum, path: &[Tie]) -> impl Iterator<Item = TxNum> + '_ {
    std::iter::once(node).chain(path.iter().map(|tie| tie.parent))
}

/// The rows that follow from the tie of a merge of two large clusters, if it is one: at its parent and all above it.
///
/// # Errors
/// Never: one merge does not overflow a sum.
pub(crate) fn rows_of_suspect(parent: TxNum, path: &[Tie]) -> Result<Rows, SumOverflow> {
    let mut rows = Rows::default();
    at_and_above(parent, path)
        .try_for_each(|node| rows.add::<ClusterBelow>(&node, [(BelowSum::Suspects.position(), 1)]))?;
    Ok(rows)
}

/// The rows that follow from the owners of a cluster, besides its own.
pub(crate) fn rows_of_owners(of: &OwnersRow) -> Result<Rows, SumOverflow> {
    let mut rows = Rows::default();
    for owner in &of.owners {
        let sums = if of.is_suspect {
            vec![(EntitySum::Suspects, 1), (EntitySum::SuspectBalance, of.balance.into())]
        } else {
            let scripts = (EntitySum::Inherited, of.scripts.into());
            vec![(EntitySum::Clusters, 1), scripts, (EntitySum::InheritedBalance, of.balance.into())]
        };
        rows.add::<EntityTotals>(owner, sums.into_iter().map(|(sum, number)| (sum.position(), number)))?;
    }
    Ok(rows)
}

/// The rows that follow from a label, the sums of its script, and where it is in its cluster.
pub(crate) fn rows_of(
    hash: &ScriptHash,
    &LabelledScript { label, moved, path }: &LabelledScript<'_>,
) -> Result<Rows, SumOverflow> {
    let mut rows = Rows::default();
    if let Some(node) = label.node {
        rows.of_node(hash, (node, path), label, &moved)?;
    }
    let owner = label.member.as_ref().map(|member| &member.entity);
    if let Some(member) = &label.member {
        let mut sums = rows.entity(hash, label, &member.entity, ScriptClass::Member)?;
        sums.extend([
            (EntitySum::Members.position(), 1),
            (EntitySum::Seen.position(), label.seen.is_some().into()),
            (EntitySum::Funded.position(), moved.funded),
            (EntitySum::Spent.position(), moved.spent),
            (EntitySum::FundedCount.position(), moved.funded_count),
            (EntitySum::SpentCount.position(), moved.spent_count),
        ]);
        rows.add::<EntityTotals>(&member.entity, sums)?;
        for origin in &member.origins {
            rows.facet(&member.entity, FacetKind::Origin, origin)?;
        }
        for list in &member.own_lists {
            rows.facet(&member.entity, FacetKind::OwnList, &format!("{}/{}", list.source, list.list))?;
        }
    }
    let named = label.label.as_ref().and_then(|label| label.entity.as_ref());
    if let Some(entity) = named.filter(|entity| owner != Some(entity)) {
        let mut sums = rows.entity(hash, label, entity, ScriptClass::Named)?;
        sums.push((EntitySum::Named.position(), 1));
        rows.add::<EntityTotals>(entity, sums)?;
    }
    // All together, and each source.
    let sources = label.sources.iter().map(|source| Some(source.clone()));
    for source in (!label.sources.is_empty()).then_some(None).into_iter().chain(sources) {
        rows.add::<LabelSources>(
            &LabelSource(source),
            [
                (SourceSum::Scripts.position(), 1),
                (SourceSum::Seen.position(), label.seen.is_some().into()),
                (SourceSum::Funded.position(), moved.funded),
                (SourceSum::Spent.position(), moved.spent),
            ],
        )?;
    }
    for (key, sums) in names::rows_of(hash, label)? {
        let rows = if matches!(key, NameKey::Script { .. }) { &mut rows.own } else { &mut rows.sums };
        rows.push((RowKey::of::<Names>(&key), sums));
    }
    Ok(rows)
}

/// Rows of sums that are looked up together.
const SUMS_AT_ONCE: usize = 256;

/// Changes of rows, of some scripts together.
#[derive(Default, Debug)]
pub(crate) struct Changes {
    labels: BTreeMap<ScriptHash, Option<ScriptLabel>>,
    /// Above zero to put, below zero to delete.
    keys: HashMap<RowKey, i32>,
    sums: HashMap<RowKey, Sums>,
    /// As `keys`, with the sums that the row has. They are not read before they are written.
    own: HashMap<RowKey, (i32, Sums)>,
    owners: BTreeMap<TxNum, Option<OwnersRow>>,
    due: BTreeSet<TxNum>,
}

pub(crate) fn overflow(_: SumOverflow) -> PipelineError {
    ReadError::Broken("a sum of an entity exceeds 128 bits".to_owned()).into()
}

impl Changes {
    /// Replaces the rows of one script. Both sides together may leave out a part of the sums and of the path that they
    /// have in common.
    pub(crate) fn replace(
        &mut self,
        hash: ScriptHash,
        before: Option<LabelledScript<'_>>,
        after: Option<LabelledScript<'_>>,
    ) -> Result<(), PipelineError> {
        for (side, times) in before.map(|of| (of, -1)).into_iter().chain(after.map(|of| (of, 1))) {
            let Rows { keys, sums, own } = rows_of(&hash, &side).map_err(overflow)?;
            for row in keys {
                *self.keys.entry(row).or_default() += times;
            }
            for (row, sums) in own {
                self.own.entry(row).or_insert_with(|| (0, sums)).0 += times;
            }
            self.add_sums(sums, times)?;
        }
        if before.map(|of| of.label) != after.map(|of| of.label) {
            self.labels.insert(hash, after.map(|of| of.label.clone()));
        }
        Ok(())
    }

    fn add_sums(&mut self, sums: Vec<(RowKey, Sums)>, times: i32) -> Result<(), PipelineError> {
        for (row, sums) in sums {
            let sums = if times < 0 { sums.negated().map_err(overflow)? } else { sums };
            self.sums.entry(row).or_default().add_all(&sums).map_err(overflow)?;
        }
        Ok(())
    }

    /// Replaces the owners of the cluster of a root.
    pub(crate) fn replace_owners(
        &mut self,
        root: TxNum,
        before: Option<&OwnersRow>,
        after: Option<OwnersRow>,
    ) -> Result<(), PipelineError> {
        if before == after.as_ref() {
            return Ok(());
        }
        for (row, times) in before.map(|of| (of, -1)).into_iter().chain(after.as_ref().map(|of| (of, 1))) {
            self.add_sums(rows_of_owners(row).map_err(overflow)?.sums, times)?;
        }
        self.owners.insert(root, after);
        Ok(())
    }

    pub(crate) fn judge_again(&mut self, root: TxNum) {
        self.due.insert(root);
    }

    /// Adds the sums that follow from a merge of two large clusters.
    pub(crate) fn add_suspect(&mut self, parent: TxNum, path: &[Tie]) -> Result<(), PipelineError> {
        self.add_sums(rows_of_suspect(parent, path).map_err(overflow)?.sums, 1)
    }

    /// Adds to the sums that are left out at a node and below.
    pub(crate) fn add_below(&mut self, node: TxNum, sums: &Sums) -> Result<(), PipelineError> {
        self.sums.entry(RowKey::of::<ClusterBelow>(&node)).or_default().add_all(sums).map_err(overflow)
    }

    /// Returns the sums that are left out at a node and below once the changes are written. The view is of the index
    /// before that.
    pub(crate) fn below(&self, view: &View<'_>, node: TxNum) -> Result<Sums, PipelineError> {
        self.below_from(view.clusters().below(node)?, node)
    }

    /// The same, from the stored sums.
    pub(crate) fn below_from(&self, stored: Sums, node: TxNum) -> Result<Sums, PipelineError> {
        let mut sums = stored;
        if let Some(change) = self.sums.get(&RowKey::of::<ClusterBelow>(&node)) {
            sums.add_all(change).map_err(overflow)?;
        }
        Ok(sums)
    }

    pub(crate) fn add(&mut self, mut other: Changes) -> Result<(), PipelineError> {
        self.labels.append(&mut other.labels);
        for (row, times) in other.keys {
            *self.keys.entry(row).or_default() += times;
        }
        // No other script has them.
        self.own.extend(other.own);
        self.owners.append(&mut other.owners);
        self.due.append(&mut other.due);
        for (row, sums) in other.sums {
            match self.sums.entry(row) {
                Entry::Vacant(none) => {
                    none.insert(sums);
                }
                Entry::Occupied(mut before) => before.get_mut().add_all(&sums).map_err(overflow)?,
            }
        }
        Ok(())
    }

    /// Notes that a child with `scripts` scripts with claims below it joined a cluster; below zero: that it no longer
    /// has.
    pub(crate) fn tie(&mut self, tie: &Tie, scripts: i128) -> Result<(), PipelineError> {
        let sums = Sums::of([(SCRIPTS_BELOW, scripts)]).map_err(overflow)?;
        let row = RowKey::of::<ClaimChildren>(&claim_child(tie));
        self.sums.entry(row).or_default().add_all(&sums).map_err(overflow)
    }

    pub(crate) fn write(self, writer: &Writer, batch: &mut Batch<'_>) -> Result<(), PipelineError> {
        for (hash, label) in self.labels {
            match label {
                Some(label) => batch.put_row::<Labels>(&hash, &label),
                None => batch.delete_row::<Labels>(&hash),
            }
        }
        for (root, owners) in self.owners {
            match owners {
                Some(owners) => batch.put_row::<ClusterOwners>(&root, &owners),
                None => batch.delete_row::<ClusterOwners>(&root),
            }
        }
        self.due.iter().for_each(|root| batch.put_row::<OwnersDue>(root, &()));
        for (row, times) in self.keys {
            match times {
                0 => {}
                1.. => batch.put(row.family, &row.key, &[]),
                _ => batch.delete(row.family, &row.key),
            }
        }
        for (row, (times, sums)) in self.own {
            match times {
                0 => {}
                1.. => batch.put(row.family, &row.key, &encoded(&sums)),
                _ => batch.delete(row.family, &row.key),
            }
        }
        // In the order of the tables: neighbours are read from the same block.
        let mut sums: Vec<(RowKey, Sums)> = self.sums.into_iter().filter(|(_, change)| !change.is_zero()).collect();
        sums.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for of_table in sums.chunk_by(|(a, _), (b, _)| a.table == b.table) {
            for some in of_table.chunks(SUMS_AT_ONCE) {
                write_sums(some, writer, batch)?;
            }
        }
        Ok(())
    }
}

/// Adds changes to the rows of one table, ascending, as they are stored.
fn write_sums(changes: &[(RowKey, Sums)], writer: &Writer, batch: &mut Batch<'_>) -> Result<(), PipelineError> {
    let Some((RowKey { table, family, .. }, _)) = changes.first() else { return Ok(()) };
    let stored = writer.get_many(*family, changes.iter().map(|(row, _)| &row.key[..]))?;
    for ((row, change), stored) in changes.iter().zip(stored) {
        let mut sums = stored.map(|bytes| decoded(table, &bytes)).transpose()?.unwrap_or_default();
        sums.add_all(change).map_err(overflow)?;
        if sums.is_zero() {
            batch.delete(*family, &row.key);
        } else {
            batch.put(*family, &row.key, &encoded(&sums));
        }
    }
    Ok(())
}

fn encoded(sums: &Sums) -> Vec<u8> {
    let mut bytes = Vec::new();
    sums.encode(&mut bytes);
    bytes
}

fn decoded(table: &'static str, bytes: &[u8]) -> Result<Sums, DecodeError> {
    Sums::decode(&mut Input::new(table, bytes))
}
