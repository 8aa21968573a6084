//! Addresses that have something in common with one: its cluster, or the pattern of its label. Each cohort is read once
//! for a batch.

use std::collections::HashMap;

use cairn_events::EntityName;
use cairn_model::ScriptId;
use cairn_reader::{ClusterRoot, LeftOut, MemberPlace, Membership};
use cairn_tables::{
    block_log::BlockLog,
    labels::{ScriptHash, ScriptLabel},
    names::{NameKind, name_of_text},
    totals::TotalsTable,
};

use crate::{operation::prelude::*, register::is_a_person, tx_sides::name_of};

/// Scripts that are looked at for a sample beyond its size: some may be left out, and the address itself is.
const MORE: usize = 3;
const A_PERSON: &str = "the label is about a natural person";

/// Property that the members of a cohort share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Basis {
    Cluster,
    LabelPattern,
}

/// Kind of the key of a cohort.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CohortKey {
    ClusterRootTxid,
    Entity,
    LabelWords,
}

/// Addresses that have something in common with the address. A hint, not evidence about any of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cohort {
    /// `cluster`: transactions spend from both together, so they may have one owner. `label_pattern`: sources give both
    /// the same entity, or the same words.
    basis: Basis,
    /// `cluster_root_txid`, `entity` or `label_words`.
    key_kind: CohortKey,
    /// Id of the transaction after which the cluster is named, the name of the entity in paths, or the words of the
    /// label, cut to 120 bytes.
    key: String,
    /// Number of scripts in the cohort, including the address itself.
    count: u64,
    /// Some of the other addresses, at most `sample_limit`; `scripthash:<hex>` where a script has no address.
    sample: Vec<String>,
}

pub(super) struct Cohorts {
    pub(super) rows: Vec<Cohort>,
    /// Why the label gives no cohort; `None` if it does, or if there is no label.
    pub(super) reason: Option<&'static str>,
    /// True if the cluster has a merge of two large clusters, which may be a mistake.
    pub(super) has_suspect_merge: bool,
}

/// A cohort that was read: its size and some members.
#[derive(Clone)]
struct Known<K> {
    key: String,
    count: u64,
    members: Vec<(K, String)>,
}

/// Cohorts that rows of a batch share.
#[derive(Default)]
pub(super) struct CohortCache {
    clusters: HashMap<ClusterRoot, (Known<ScriptId>, bool)>,
    patterns: HashMap<(bool, String), Option<Known<ScriptHash>>>,
}

impl<K: PartialEq> Known<K> {
    fn cohort(&self, basis: Basis, key_kind: CohortKey, own: &K, samples: usize) -> Cohort {
        let others = self.members.iter().filter(|(of, _)| of != own).map(|(_, address)| address.clone());
        Cohort { basis, key_kind, key: self.key.clone(), count: self.count, sample: others.take(samples).collect() }
    }
}

/// Finds the cohorts of a script, each with at most `samples` members. `entity` is the one of its best label. For each
/// cohort that no other row of the batch has read, some eight rows for each member.
pub(super) fn cohorts(
    view: &View<'_>,
    samples: usize,
    hash: &[u8; 32],
    member: Option<&Membership>,
    entity: Option<&EntityName>,
    cache: &mut CohortCache,
) -> Result<Cohorts, ApiError> {
    let mut found = Cohorts { rows: Vec::new(), reason: None, has_suspect_merge: false };
    if let Some((member, root)) = member.and_then(|member| Some((member, member.root?))) {
        let (known, is_suspect) = match cache.clusters.get(&root) {
            Some(known) => known.clone(),
            None => {
                let read = cluster(view, root, samples)?;
                cache.clusters.insert(root, read.clone());
                read
            }
        };
        found.has_suspect_merge = is_suspect;
        found.rows.push(known.cohort(Basis::Cluster, CohortKey::ClusterRootTxid, &member.script, samples));
    }
    let hash = ScriptHash(*hash);
    let kept = view.labels().of_hash(&hash)?;
    let label = kept.as_ref().and_then(|kept| kept.label.as_ref());
    if label.is_some_and(|label| label.is_person) {
        found.reason = Some(A_PERSON);
        return Ok(found);
    }
    let words = || kept.as_ref().and_then(words_of);
    let pattern = entity.map(|entity| (true, entity.to_string())).or_else(|| Some((false, words()?)));
    let Some(pattern) = pattern else { return Ok(found) };
    let known = match cache.patterns.get(&pattern) {
        Some(known) => known.clone(),
        None => {
            let read =
                if pattern.0 { of_entity(view, &pattern.1, samples)? } else { of_words(view, &pattern.1, samples)? };
            cache.patterns.insert(pattern.clone(), read.clone());
            read
        }
    };
    match known {
        Some(known) => {
            let key = if pattern.0 { CohortKey::Entity } else { CohortKey::LabelWords };
            found.rows.push(known.cohort(Basis::LabelPattern, key, &hash, samples));
        }
        None if pattern.0 => found.reason = Some(A_PERSON),
        None => {}
    }
    Ok(found)
}

/// The words of a label that names no entity, as the table of names has them.
fn words_of(kept: &ScriptLabel) -> Option<String> {
    let label = kept.label.as_ref().filter(|label| label.entity.is_none() && kept.member.is_none())?;
    Some(name_of_text(&label.words)).filter(|text| !text.is_empty())
}

/// A cluster, and whether it has a suspect merge.
fn cluster(view: &View<'_>, root: ClusterRoot, samples: usize) -> Result<(Known<ScriptId>, bool), ApiError> {
    let at = view.as_of_tip();
    let missing = || lacks::<BlockLog>(format!("transaction {}", root.0.0));
    let (txid, _) = view.transactions().txid(root.0)?.ok_or_else(missing)?;
    let count = view.clusters().size(root, at)?.map_or(0, |size| size.scripts);
    let (mut members, mut place) = (Vec::new(), Some(MemberPlace::default()));
    while let Some(from) = place.take().filter(|_| members.len() <= samples) {
        let Some(page) = view.clusters().members(root, at, &from, samples + 1 - members.len())? else { break };
        for script in page.scripts {
            let bytes = view.scripts().bytes_of(script)?;
            let bytes = bytes.ok_or_else(|| lacks::<TotalsTable>(format!("script {script:?}")))?;
            members.push((script, name_of(&bytes, view)));
        }
        place = page.next;
    }
    // Sums that cannot be read count as a merge: nothing is ruled out by them.
    let is_suspect = LeftOut::of(&view.clusters().below(root.0)?).is_none_or(|left_out| left_out.suspects > 0);
    Ok((Known { key: txid.to_string(), count, members }, is_suspect))
}

/// The scripts of an entity; `None` if it counts as a natural person, or if no label names it.
fn of_entity(view: &View<'_>, name: &str, samples: usize) -> Result<Option<Known<ScriptHash>>, ApiError> {
    let Ok(entity) = name.parse::<EntityName>() else { return Ok(None) };
    let Some(row) = view.entities().get(&entity)?.filter(|row| !is_a_person(row)) else { return Ok(None) };
    let count = row.members.saturating_add(row.named);
    let members = sample(view, NameKind::Entity, name, samples)?;
    Ok(Some(Known { key: name.to_owned(), count, members }))
}

/// The scripts with a label of these words; `None` if there are none.
fn of_words(view: &View<'_>, text: &str, samples: usize) -> Result<Option<Known<ScriptHash>>, ApiError> {
    match view.labels().count_of_text(text)? {
        0 => Ok(None),
        count => {
            let members = sample(view, NameKind::Text, text, samples)?;
            Ok(Some(Known { key: text.to_owned(), count, members }))
        }
    }
}

/// Some scripts of a name, without those whose label is about a natural person.
fn sample(view: &View<'_>, kind: NameKind, name: &str, samples: usize) -> Result<Vec<(ScriptHash, String)>, ApiError> {
    let scripts = view.labels().scripts_of_name(kind, name, samples + MORE)?;
    let labels = view.labels().of_hashes(&scripts)?;
    let row = |(hash, kept): (ScriptHash, Option<ScriptLabel>)| {
        let kept = kept.filter(|kept| !kept.label.as_ref().is_some_and(|label| label.is_person))?;
        Some((hash, name_of(&kept.script, view)))
    };
    Ok(scripts.into_iter().zip(labels).filter_map(row).collect())
}
