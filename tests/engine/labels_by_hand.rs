//! Documents about scripts of chains, and the labels and entities that follow from them, by hand.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bitcoin::OutPoint;
use cairn_chaingen::{Chain, Everything};
use cairn_events::{
    Body, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EntityName, EvidenceTier, Provenance, Slug,
};
use cairn_model::{Network, TxNum};
use cairn_reader::{ListClaims, Tie, View};
use cairn_tables::{
    Table, TableInfo,
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::{BelowSum, ClusterBelow, ClusterOwners, OwnersDue},
    encode_key, encode_value,
    entities::{
        EntityFacet, EntityFacets, EntityScript, EntityScripts, EntitySum, EntityTotals, FacetKind, Newest, ScriptClass,
    },
    label_sources::{LabelSource, LabelSources, SourceSum},
    labels::{Label, LabelDue, Labels, Member, ScriptHash, ScriptLabel, SeenScript},
    sums::Sums as SumsRow,
};
use cairn_testkit::Oracle;
use rand::{Rng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::{claims, contests::contest, inherited_by_hand::assert_inherited, owners_by_hand, support::*};

/// A script.
pub(crate) type Script = Arc<[u8]>;

pub(crate) fn hash(script: &[u8]) -> ScriptHash {
    ScriptHash(Sha256::digest(script).into())
}

/// Chains, each with more work than the one before, most of them after a fork.
pub(crate) fn chains(seed: u64) -> Vec<Chain> {
    let mut making = Everything::new(seed, 5, false);
    making.grow(110).unwrap();
    let mut all = vec![making.chain().clone()];
    for (depth, length) in [(3, 5), (8, 9), (1, 4), (12, 14)] {
        making.fork(depth, length).unwrap();
        all.push(making.chain().clone());
    }
    all
}

/// Scripts of the chains, of forks among them, and some that no block has.
pub(crate) fn scripts(rng: &mut ChaCha8Rng, chains: &[Chain]) -> Vec<Script> {
    let mut found: BTreeSet<Script> = (0..3).map(|n| [0x51, 0x60, n].into()).collect();
    for chain in chains {
        let tip = chain.tip().height;
        let oracle = oracle_of(chain);
        // New ones among the last blocks, which forks take away.
        let mut young: Vec<_> = oracle.all_totals().iter().collect();
        young.sort_by_key(|(_, totals)| Reverse(totals.first));
        assert!(young.len() > 20 && tip > 100);
        found.extend(young[..20].iter().filter(|_| rng.random_ratio(1, 8)).map(|(script, _)| script.as_bytes().into()));
        let busy = oracle.all_totals().iter().filter(|(_, totals)| totals.tx_count > 2);
        found.extend(busy.filter(|_| rng.random_ratio(1, 40)).map(|(script, _)| script.as_bytes().into()));
        let mut together = spent_together(chain);
        together.shuffle(rng);
        found.extend(together.into_iter().take(6));
    }
    let mut found: Vec<Script> = found.into_iter().filter(|script| !script.is_empty()).collect();
    found.shuffle(rng);
    found.truncate(30);
    found.push([0x51, 0x61].into());
    found
}

/// Scripts of which some transaction spends together with others, which makes clusters.
fn spent_together(chain: &Chain) -> Vec<Script> {
    let blocks = chain.active();
    let all = || blocks.iter().flat_map(|mined| &mined.block.txdata);
    let mut paid: BTreeMap<OutPoint, Script> = BTreeMap::new();
    for tx in all() {
        let txid = tx.compute_txid();
        paid.extend(
            (0..)
                .zip(&tx.output)
                .map(|(vout, output)| (OutPoint { txid, vout }, output.script_pubkey.as_bytes().into())),
        );
    }
    let spends = all().filter(|tx| tx.input.len() > 1).flat_map(|tx| &tx.input);
    let scripts: BTreeSet<Script> = spends.filter_map(|input| paid.get(&input.previous_output).cloned()).collect();
    scripts.into_iter().collect()
}

/// A claim about one of the scripts.
pub(crate) fn claim(rng: &mut ChaCha8Rng, row: u32, scripts: &[Script]) -> Claim {
    use ClaimType::{BehavesAs, ControlledBy, ListedBy, ReportedAs};
    let entity = ["one", "two", "three"][rng.random_range(0..3)];
    let is_named = rng.random_ratio(5, 6);
    let claim_type =
        [ControlledBy, ControlledBy, ControlledBy, ListedBy, ReportedAs, BehavesAs][rng.random_range(0..6)];
    let script = Arc::clone(&scripts[rng.random_range(0..scripts.len())]);
    let tier = [EvidenceTier::ThirdParty, EvidenceTier::SelfDisclosed][rng.random_range(0..2)];
    Claim {
        level: [10, 39, 40, 90][rng.random_range(0..4)],
        entity: is_named.then(|| entity.parse().unwrap()),
        entity_name: if is_named && rng.random() { entity.to_uppercase().into() } else { "".into() },
        category: rng.random::<bool>().then_some(Category::ALL[rng.random_range(0..3)]),
        label: "words".into(),
        asserted_at: rng.random::<bool>().then(|| 1_800_000_000 + rng.random_range(0..6)),
        valid_to: rng.random_ratio(1, 10).then_some(1_800_000_003),
        is_inherited: rng.random(),
        is_person: rng.random_ratio(1, 6),
        ..Claim::bare(row, script, claim_type, tier)
    }
}

/// A document, of one source of few.
pub(crate) fn document(rng: &mut ChaCha8Rng, body: Body) -> Document {
    let provenance = Provenance {
        source: ["a", "b", "c"][rng.random_range(0..3)].parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a test".to_owned(),
        // Few times, so that hashes decide, too.
        retrieved_at: 1_800_000_000 + rng.random_range(0..8),
        document: DocumentHash(rng.random()),
    };
    Document { provenance, received_at: None, body }
}

/// Documents of claims, complete and not, that restate and contradict each other, and withdrawals of some.
pub(crate) fn documents(rng: &mut ChaCha8Rng, count: usize, scripts: &[Script]) -> Vec<Document> {
    let mut all: Vec<Document> = Vec::new();
    for _ in 0..count {
        let body = if rng.random_ratio(1, 6) {
            let known = all.get(rng.random_range(0..all.len().max(1))).map(|of| of.provenance.document);
            let document = known.filter(|_| rng.random_ratio(9, 10)).unwrap_or(DocumentHash(rng.random()));
            Body::Withdrawal { document, reason: "it was wrong".to_owned() }
        } else if let Some(body) = Some(rng.random_ratio(1, 4)).filter(|is| *is).and_then(|_| contest(rng, &all)) {
            body
        } else {
            let name = ["x", "y"][rng.random_range(0..2)].parse().unwrap();
            let count = if rng.random_ratio(1, 8) { 200 } else { rng.random_range(1..12) };
            let rows = (1..=count).map(|row| claim(rng, row, scripts)).collect();
            Body::Claims { list: ClaimList { name, is_complete: rng.random_ratio(1, 3) }, rows }
        };
        all.push(document(rng, body));
    }
    all
}

/// A claim that stands, with its list.
pub(crate) struct ClaimStatus<'s> {
    pub(crate) of: &'s ListClaims,
    pub(crate) claim: &'s Claim,
}

impl ClaimStatus<'_> {
    pub(crate) fn contested(&self) -> bool {
        self.claim.claim_type != ClaimType::ListedBy && self.of.is_contested(self.claim)
    }

    fn makes_member(&self) -> bool {
        !self.contested()
            && self.claim.claim_type == ClaimType::ControlledBy
            && self.claim.level >= 40
            && self.claim.entity.is_some()
    }

    fn then(&self) -> u32 {
        self.claim.asserted_at.unwrap_or(self.of.version.retrieved_at)
    }
}

/// The claims that stand, by hand.
pub(crate) fn standing(said: &[ListClaims]) -> Vec<ClaimStatus<'_>> {
    let all = || said.iter().flat_map(|of| of.claims.iter().map(move |claim| ClaimStatus { of, claim }));
    let listed = |one: &ClaimStatus<'_>| one.claim.claim_type == ClaimType::ListedBy;
    let delisted = |one: &ClaimStatus<'_>| {
        let same = all().filter(|other| listed(other) && other.of.list.source == one.of.list.source);
        let end = same.filter_map(|other| other.of.ended_at).max();
        listed(one) && end.is_some_and(|end| one.of.version.retrieved_at < end)
    };
    all().filter(|one| one.of.ended_at.is_none() && one.claim.valid_to.is_none() && !delisted(one)).collect()
}

/// The label and the owner of a script, and who labels it, by hand.
fn judged(said: &[ListClaims]) -> (Option<Label>, Option<Member>, BTreeSet<Slug>) {
    let all = standing(said);
    let labels: Vec<&ClaimStatus<'_>> = all.iter().filter(|one| one.claim.claim_type != ClaimType::BehavesAs).collect();
    let control = labels.iter().any(|one| one.makes_member());
    let only_contested = labels.iter().filter(|one| one.claim.entity.is_some()).all(|one| one.contested());
    let mut votes: BTreeMap<(&EntityName, &str), u32> = BTreeMap::new();
    for one in labels
        .iter()
        .filter(|one| only_contested || !one.contested())
        .filter(|one| !control || one.claim.claim_type == ClaimType::ControlledBy)
    {
        let Some(entity) = &one.claim.entity else { continue };
        let vote = votes.entry((entity, one.of.list.source.as_str())).or_default();
        *vote = (*vote).max(one.claim.level.into());
    }
    let mut sums: BTreeMap<&EntityName, u32> = BTreeMap::new();
    votes.iter().for_each(|((entity, _), level)| *sums.entry(entity).or_default() += level);
    let winner = sums.iter().min_by_key(|(name, sum)| (Reverse(**sum), **name)).map(|(name, sum)| (*name, *sum));
    let is_conflicted = winner.is_some_and(|(_, sum)| sum * 4 < sums.values().sum::<u32>() * 3);
    let of_winner = |one: &ClaimStatus<'_>| winner.is_none_or(|(name, _)| one.claim.entity.as_ref() == Some(name));
    let best = labels.iter().filter(|one| of_winner(one)).min_by_key(|one| {
        let weight = (one.contested(), Reverse(one.claim.level), one.claim.tier, Reverse(one.then()));
        (weight, &one.of.list.source, one.of.version.document, one.claim.row)
    });
    let label = best.map(|best| Label {
        claim_type: best.claim.claim_type,
        tier: best.claim.tier,
        level: best.claim.level,
        category: best.claim.category,
        behaviour: None,
        then: best.then(),
        entity: best.claim.entity.clone(),
        name: Arc::clone(&best.claim.entity_name),
        words: Arc::clone(&best.claim.label),
        is_conflicted,
        is_contested: best.contested(),
        is_person: best.claim.is_person,
    });
    let making: Vec<&ClaimStatus<'_>> = all.iter().filter(|one| one.makes_member() && of_winner(one)).collect();
    let member = winner.filter(|_| !is_conflicted && !making.is_empty()).map(|(entity, _)| {
        let own = making.iter().filter(|one| one.claim.tier == EvidenceTier::SelfDisclosed);
        let origins: BTreeSet<Arc<str>> = making.iter().map(|one| one.of.list.source.as_str().into()).collect();
        let own_lists: BTreeSet<_> = own.map(|one| one.of.list.clone()).collect();
        Member {
            entity: entity.clone(),
            level: making.iter().map(|one| one.claim.level).max().unwrap(),
            origins: origins.into_iter().collect(),
            own_lists: own_lists.into_iter().collect(),
        }
    });
    let with_winner = |one: &ClaimStatus<'_>| {
        one.claim.entity.is_none()
            || one.claim.claim_type == ClaimType::ListedBy
            || one.claim.entity.as_ref() == winner.map(|(name, _)| name)
    };
    let labelling = labels.iter().filter(|one| one.claim.level >= 40 && with_winner(one));
    let is_disputed = is_conflicted || labels.iter().any(|one| one.contested());
    let sources = labelling.filter(|_| !is_disputed).map(|one| one.of.list.source.clone()).collect();
    (label, member, sources)
}

/// True if a claim that stands extends to other scripts of the cluster, by hand.
pub(crate) fn is_heritable(said: &[ListClaims]) -> bool {
    let extends = |one: &ClaimStatus<'_>| one.claim.is_inherited && one.claim.claim_type != ClaimType::ListedBy;
    standing(said).iter().any(|one| extends(one) && !one.contested())
}

/// Rows of the joined tables, by table and key.
type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

fn put<T: Table>(rows: &mut Rows, key: &T::Key, value: &T::Value) {
    let key = encode_key::<T>(key).split_off(usize::from(T::TAG.is_some()));
    rows.insert((T::NAME, key), encode_value::<T>(value));
}

/// The rows that follow, by hand.
fn expected(view: &View<'_>, oracle: &Oracle, documents: &[Document], scripts: &[Script]) -> Rows {
    let mut rows = Rows::new();
    let mut totals: BTreeMap<EntityName, Vec<(u32, i128)>> = BTreeMap::new();
    let mut facets: BTreeMap<EntityFacet, i128> = BTreeMap::new();
    let mut shares: BTreeMap<LabelSource, Vec<(u32, i128)>> = BTreeMap::new();
    let mut below: BTreeMap<ClaimChild, i128> = BTreeMap::new();
    let mut left_out: BTreeMap<TxNum, Vec<(u32, i128)>> = BTreeMap::new();
    let (mut named_scripts, mut claimed) = (BTreeSet::new(), BTreeMap::new());
    for script in scripts {
        let said = claims::said(documents, script);
        let ((label, member, sources), is_heritable) = (judged(&said), is_heritable(&said));
        if label.is_none() && member.is_none() && !is_heritable {
            continue;
        }
        let chain = oracle.totals(bitcoin::Script::from_bytes(script));
        let ordinal = view.scripts().find(script).unwrap().map(|found| found.id.ordinal);
        let seen = chain.map(|totals| SeenScript { ordinal: ordinal.unwrap(), last: totals.last });
        let owner = member.as_ref().map(|member| &member.entity);
        let named = label.as_ref().and_then(|label| label.entity.as_ref()).filter(|entity| owner != Some(entity));
        let classes = [(owner, ScriptClass::Member), (named, ScriptClass::Named)];
        for (entity, class) in classes.into_iter().filter_map(|(entity, class)| Some((entity?, class))) {
            let of = totals.entry(entity.clone()).or_default();
            let last = Newest(seen.map(|seen| seen.last));
            let key = EntityScript { entity: entity.clone(), class, last, script: hash(script) };
            put::<EntityScripts>(&mut rows, &key, &());
            if let Some(label) = label.as_ref().filter(|label| label.entity.as_ref() == Some(entity)) {
                of.push((EntitySum::Persons.position(), label.is_person.into()));
                of.extend(label.category.map(|category| (EntitySum::of_category(category), 1)));
                if !label.name.is_empty() {
                    *facets.entry(EntityFacet::new(entity.clone(), FacetKind::Name, &label.name)).or_default() += 1;
                }
            }
            if class == ScriptClass::Named {
                of.push((EntitySum::Named.position(), 1));
                continue;
            }
            of.push((EntitySum::Members.position(), 1));
            if let Some(totals) = chain {
                of.push((EntitySum::Seen.position(), 1));
                of.push((EntitySum::Funded.position(), totals.funded_sats.into()));
                of.push((EntitySum::Spent.position(), totals.spent_sats.into()));
                of.push((EntitySum::FundedCount.position(), totals.funded_count.into()));
                of.push((EntitySum::SpentCount.position(), totals.spent_count.into()));
            }
        }
        if let Some(member) = &member {
            let origins = member.origins.iter().map(|origin| (FacetKind::Origin, origin.to_string()));
            let lists = member.own_lists.iter().map(|of| (FacetKind::OwnList, format!("{}/{}", of.source, of.list)));
            for (kind, text) in origins.chain(lists) {
                *facets.entry(EntityFacet::new(member.entity.clone(), kind, &text)).or_default() += 1;
            }
        }
        let all = (!sources.is_empty()).then_some(None);
        for source in all.into_iter().chain(sources.iter().map(|source| Some(source.clone()))) {
            let of = shares.entry(LabelSource(source)).or_default();
            of.push((SourceSum::Scripts.position(), 1));
            if let Some(totals) = chain {
                of.push((SourceSum::Seen.position(), 1));
                of.push((SourceSum::Funded.position(), totals.funded_sats.into()));
                of.push((SourceSum::Spent.position(), totals.spent_sats.into()));
            }
        }
        let sources = sources.into_iter().collect();
        let found = view.scripts().find(script).unwrap();
        // The clusters themselves are compared with what follows by hand elsewhere.
        let of = found.map(|found| view.clusters().of_script(found.id, view.as_of_tip()).unwrap());
        let node = of.as_ref().and_then(|of| of.node);
        let path = of.as_ref().map(|of| of.path.clone()).unwrap_or_default();
        if let Some(node) = node.filter(|_| is_heritable) {
            put::<ClaimNodes>(&mut rows, &(node, hash(script)), &());
            for Tie { parent, by, child, .. } in &path {
                *below.entry(ClaimChild { parent: *parent, by: *by, child: *child }).or_default() += 1;
            }
            claimed.insert(of.as_ref().unwrap().root.unwrap().0, of.clone().unwrap());
        }
        if label.as_ref().is_some_and(|label| label.entity.is_some()) {
            named_scripts.insert(hash(script));
            for node in node.into_iter().chain(path.iter().map(|tie| tie.parent)).filter(|_| node.is_some()) {
                let totals = chain.unwrap();
                left_out.entry(node).or_default().extend([
                    (BelowSum::Scripts.position(), 1),
                    (BelowSum::Funded.position(), totals.funded_sats.into()),
                    (BelowSum::Spent.position(), totals.spent_sats.into()),
                ]);
            }
        }
        let label = ScriptLabel { script: Arc::clone(script), seen, label, member, sources, is_heritable, node };
        put::<Labels>(&mut rows, &hash(script), &label);
    }
    let of_hash: BTreeMap<ScriptHash, &Script> = scripts.iter().map(|script| (hash(script), script)).collect();
    let said = |script: &ScriptHash| claims::said(documents, of_hash[script]);
    for (root, row) in owners_by_hand::rows(view, oracle, &claimed, &named_scripts, said) {
        totals.entry(row.owners[0].clone()).or_default().extend([
            (EntitySum::Clusters.position(), 1),
            (EntitySum::Inherited.position(), row.scripts.into()),
            (EntitySum::InheritedBalance.position(), row.balance.into()),
        ]);
        put::<ClusterOwners>(&mut rows, &root, &row);
    }
    left_out.iter().for_each(|(node, sums)| {
        put::<ClusterBelow>(&mut rows, node, &SumsRow::of(sums.iter().copied()).unwrap());
    });
    totals.iter().for_each(|(entity, sums)| {
        put::<EntityTotals>(&mut rows, entity, &SumsRow::of(sums.iter().copied()).unwrap());
    });
    shares.iter().for_each(|(source, sums)| {
        put::<LabelSources>(&mut rows, source, &SumsRow::of(sums.iter().copied()).unwrap());
    });
    below.iter().for_each(|(tie, count)| {
        put::<ClaimChildren>(&mut rows, tie, &SumsRow::of([(SCRIPTS_BELOW, *count)]).unwrap());
    });
    facets
        .iter()
        .for_each(|(facet, count)| put::<EntityFacets>(&mut rows, facet, &SumsRow::of([(0, *count)]).unwrap()));
    rows
}

/// The rows of the index.
fn stored(view: &View<'_>) -> Rows {
    let tables = [
        TableInfo::of::<Labels>(),
        TableInfo::of::<LabelDue>(),
        TableInfo::of::<EntityScripts>(),
        TableInfo::of::<EntityTotals>(),
        TableInfo::of::<EntityFacets>(),
        TableInfo::of::<LabelSources>(),
        TableInfo::of::<ClaimNodes>(),
        TableInfo::of::<ClaimChildren>(),
        TableInfo::of::<ClusterBelow>(),
        TableInfo::of::<ClusterOwners>(),
        TableInfo::of::<OwnersDue>(),
    ];
    let mut rows = Rows::new();
    for table in &tables {
        let add = |key: &[u8], value: &[u8]| drop(rows.insert((table.name, key.to_vec()), value.to_vec()));
        view.tables().rows(table, add).unwrap();
    }
    rows
}

/// Fails unless the rows are those that follow from documents and chain.
pub(crate) fn assert_rows(index: &Index, chain: &Chain, documents: &[Document], scripts: &[Script], what: &str) {
    let height = index.height().unwrap();
    let blocks = chain.active();
    let oracle = Oracle::of(Network::Regtest, blocks.iter().take(height as usize + 1).map(|mined| &mined.block));
    index.view(|view| {
        let (found, by_hand) = (stored(view), expected(view, &oracle, documents, scripts));
        let differ = |a: &Rows, b: &Rows| -> Vec<String> {
            let of = a.iter().filter(|(place, value)| b.get(*place) != Some(*value));
            of.map(|((table, key), value)| format!("{table} {} {}", hex::encode(key), hex::encode(value))).collect()
        };
        let (wrong, right) = (differ(&found, &by_hand), differ(&by_hand, &found));
        assert!(wrong.is_empty() && right.is_empty(), "{what}: {wrong:#?}\ninstead of {right:#?}");
        assert_inherited(view, documents, scripts, what);
    });
}
