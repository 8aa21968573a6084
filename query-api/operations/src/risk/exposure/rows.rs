//! Makes the rows of an answer from a trace.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use cairn_domain::exposure::{Amounts, MILLIONTHS, Reach, Source, Stop, Tally};
use cairn_model::Sats;

use super::{
    claimed::{ClaimedScript, DirectClaim, Kind},
    output::{AlsoClaimed, BelowMinShare, ClaimShare, GroupRow, Measure, Sensitivity, Split, UnresolvedRow, Without},
    traced::{Choice, Traced},
};
use crate::values::rfc3339;

const MAX_CLAIMS: usize = 10;

/// `part` in millionths of `whole`, rounded down.
pub(crate) fn ppm(part: Sats, whole: Sats) -> u64 {
    let share = u128::from(part) * 1_000_000 / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

pub(crate) const fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Unspendable => "unspendable",
        Stop::Returned => "returned",
        Stop::Service => "service",
        Stop::Busy => "busy",
        Stop::Held => "held",
        Stop::CoinJoin => "coinjoin",
        Stop::HopLimit => "hop_limit",
        Stop::CoinCap => "coin_cap",
        Stop::TransactionCap => "transaction_cap",
        Stop::WorkCap => "work_cap",
    }
}

/// The sources of a group, with their haircut (millionths of a satoshi) and FIFO amounts.
type SourceSums = BTreeMap<u32, (u128, Sats)>;

pub(crate) struct Rows<'t> {
    pub(crate) traced: &'t Traced,
    pub(crate) choice: Choice<'t>,
    /// Claims about the subject itself.
    pub(crate) own: Option<Rc<ClaimedScript>>,
    /// Value of all coins that it received or spent.
    pub(crate) total: Sats,
    pub(crate) min_share_ppm: u32,
}

impl Rows<'_> {
    fn tally(&self) -> &Tally {
        &self.traced.trace.tally
    }

    /// The rows, the largest first, and the sum of those that are left out.
    pub(crate) fn groups(&self) -> (Vec<GroupRow>, BelowMinShare) {
        let own: BTreeSet<&str> =
            self.own.iter().flat_map(|own| &own.claims).filter_map(|claim| self.choice.group(claim)).collect();
        let mut names: BTreeMap<&str, Option<u32>> = own.iter().map(|name| (*name, None)).collect();
        for (id, name) in (0u32..).zip(&self.traced.groups) {
            let reaches = [Reach::Counterparty, Reach::Indirect];
            if reaches.iter().any(|reach| self.tally().groups.contains_key(&(id, *reach))) {
                names.insert(name, Some(id));
            }
        }
        let (mut rows, mut below) = (Vec::new(), BelowMinShare::default());
        for (name, id) in names {
            let row = self.group(name, id);
            let (haircut, fifo) = sums(&row);
            let share = ppm(haircut.max(fifo), self.total);
            if !own.contains(name) && share < u64::from(self.min_share_ppm) {
                below.rows += 1;
                below.haircut_sats += haircut;
                below.fifo_sats += fifo;
            } else {
                rows.push(row);
            }
        }
        rows.sort_by_key(|row| {
            let (haircut, fifo) = sums(row);
            Reverse((row.ownership.haircut_sats, haircut, fifo))
        });
        (rows, below)
    }

    fn group(&self, name: &str, id: Option<u32>) -> GroupRow {
        let [counterparty, indirect] =
            [Reach::Counterparty, Reach::Indirect].map(|reach| self.measure(name, id, reach));
        let ownership = self.ownership(name);
        let sources = self.sources_of(id, &[Reach::Counterparty, Reach::Indirect]);
        let sum = (
            counterparty.haircut_sats.saturating_add(indirect.haircut_sats),
            counterparty.fifo_sats.saturating_add(indirect.fifo_sats),
        );
        let sensitivity = if sources.is_empty() {
            self.own_sensitivity(name, &ownership)
        } else {
            self.sensitivity(name, &sources, sum)
        };
        let is_service = self.claims_in(name, &sources).any(|claim| !claim.is_flag && claim.is_service());
        let also = self.also(name, &sources);
        let (category, list) = match self.choice.kind {
            Kind::Risk => (Some(name.to_owned()), None),
            Kind::Sanctions => (None, Some(name.to_owned())),
        };
        GroupRow { category, list, is_service, ownership, counterparty, indirect, sensitivity, also }
    }

    /// The first claim of a script in a group.
    fn claim_in<'c>(&self, name: &str, script: &'c ClaimedScript) -> Option<&'c DirectClaim> {
        script.claims.iter().find(|claim| self.choice.group(claim) == Some(name))
    }

    fn claims_in<'s>(&'s self, name: &'s str, sources: &'s SourceSums) -> impl Iterator<Item = &'s DirectClaim> {
        let own = self.own.iter().filter_map(|own| self.claim_in(name, own));
        own.chain(sources.keys().filter_map(|id| self.claim_in(name, self.traced.sources.get(*id as usize)?)))
    }

    fn sources_of(&self, group: Option<u32>, reaches: &[Reach]) -> SourceSums {
        let mut sums = SourceSums::new();
        for ((Source { id, group: of }, reach), amounts) in &self.tally().sources {
            if Some(*of) == group && reaches.contains(reach) {
                let sum = sums.entry(*id).or_default();
                sum.0 += amounts.haircut;
                sum.1 = sum.1.saturating_add(amounts.fifo);
            }
        }
        sums
    }

    fn measure(&self, name: &str, id: Option<u32>, reach: Reach) -> Measure {
        let amounts = id.and_then(|id| self.tally().groups.get(&(id, reach))).copied().unwrap_or_default();
        let mut sources: Vec<(u32, (u128, Sats))> = self.sources_of(id, &[reach]).into_iter().collect();
        sources.sort_by_key(|(id, sums)| (Reverse(*sums), *id));
        let claims = sources.iter().filter_map(|(id, sums)| {
            let script = self.traced.sources.get(*id as usize)?;
            Some(claim_share(script, self.claim_in(name, script)?, (in_sats(sums.0), sums.1)))
        });
        Measure {
            haircut_sats: amounts.haircut_sats(),
            fifo_sats: amounts.fifo,
            poison_sats: amounts.poison,
            share_ppm: ppm(amounts.haircut_sats(), self.total),
            claims: claims.take(MAX_CLAIMS).collect(),
            claims_total: sources.len() as u64,
        }
    }

    fn ownership(&self, name: &str) -> Measure {
        let Some(own) = &self.own else { return Measure::default() };
        let examined = self.tally().examined;
        let claims = || own.claims.iter().filter(|claim| self.choice.group(claim) == Some(name));
        if claims().next().is_none() {
            return Measure::default();
        }
        Measure {
            haircut_sats: examined,
            fifo_sats: examined,
            poison_sats: examined,
            share_ppm: ppm(examined, self.total),
            claims: claims().take(MAX_CLAIMS).map(|claim| claim_share(own, claim, (examined, examined))).collect(),
            claims_total: claims().count() as u64,
        }
    }

    /// The only origin that puts a script into a group: the first claim of it.
    fn only_claim<'c>(&self, name: &str, script: &'c ClaimedScript) -> Option<&'c DirectClaim> {
        let mut claims = script.claims.iter().filter(|claim| self.choice.group(claim) == Some(name));
        let first = claims.next()?;
        claims.all(|claim| claim.origin == first.origin).then_some(first)
    }

    fn sensitivity(&self, name: &str, sources: &SourceSums, (haircut, fifo): (Sats, Sats)) -> Sensitivity {
        let single = sources.iter().filter_map(|(id, sums)| {
            let script = self.traced.sources.get(*id as usize)?;
            Some((sums, script, self.only_claim(name, script)?))
        });
        let without =
            |haircut_sats, fifo_sats| Without { haircut_sats, fifo_sats, share_ppm: ppm(haircut_sats, self.total) };
        match single.max_by_key(|(sums, _, claim)| (**sums, Reverse(&claim.id))) {
            None => Sensitivity {
                without: without(haircut, fifo),
                reason: Some("each script has claims of two or more origins"),
                ..Sensitivity::default()
            },
            Some((sums, script, claim)) => {
                let hangs = in_sats(sums.0).min(haircut);
                Sensitivity {
                    claim_id: Some(claim.id.clone()),
                    address: Some(script.address.clone()),
                    haircut_sats: hangs,
                    fifo_sats: sums.1,
                    share_of_row_ppm: ppm(hangs, haircut),
                    without: without(haircut - hangs, fifo.saturating_sub(sums.1)),
                    reason: None,
                }
            }
        }
    }

    fn own_sensitivity(&self, name: &str, ownership: &Measure) -> Sensitivity {
        let Some(own) = self.own.as_ref().filter(|_| ownership.claims_total > 0) else { return Sensitivity::default() };
        let all = Without {
            haircut_sats: ownership.haircut_sats,
            fifo_sats: ownership.fifo_sats,
            share_ppm: ownership.share_ppm,
        };
        match self.only_claim(name, own) {
            None => Sensitivity {
                without: all,
                reason: Some("the address has claims of two or more origins"),
                ..Sensitivity::default()
            },
            Some(claim) => Sensitivity {
                claim_id: Some(claim.id.clone()),
                address: Some(own.address.clone()),
                haircut_sats: ownership.haircut_sats,
                fifo_sats: ownership.fifo_sats,
                share_of_row_ppm: ppm(ownership.haircut_sats, ownership.haircut_sats),
                without: Without::default(),
                reason: None,
            },
        }
    }

    /// Other groups of the same scripts.
    fn also(&self, name: &str, sources: &SourceSums) -> Vec<AlsoClaimed> {
        let mut others: BTreeMap<&str, (u128, Sats)> = BTreeMap::new();
        for (id, sums) in sources {
            let Some(script) = self.traced.sources.get(*id as usize) else { continue };
            let groups: BTreeSet<&str> = script
                .claims
                .iter()
                .filter_map(|claim| claim.group(self.choice.kind))
                .filter(|of| *of != name)
                .collect();
            for group in groups {
                let sum = others.entry(group).or_default();
                sum.0 += sums.0;
                sum.1 = sum.1.saturating_add(sums.1);
            }
        }
        let also = |(name, sums): (&str, (u128, Sats))| AlsoClaimed {
            name: name.to_owned(),
            haircut_sats: in_sats(sums.0),
            fifo_sats: sums.1,
        };
        others.into_iter().map(also).collect()
    }

    /// The amounts that were not traced to a claim.
    pub(crate) fn unresolved(&self) -> Vec<UnresolvedRow> {
        let tally = self.tally();
        let row = |reason, haircut_sats, fifo_sats| UnresolvedRow {
            reason,
            haircut_sats,
            fifo_sats,
            share_ppm: ppm(haircut_sats, self.total),
        };
        let stops = tally.stops.iter().map(|(stop, amounts)| row(reason(*stop), amounts.haircut_sats(), amounts.fifo));
        let mut rows: Vec<UnresolvedRow> = stops.filter(|row| row.haircut_sats > 0 || row.fifo_sats > 0).collect();
        rows.sort_by_key(|row| (Reverse((row.haircut_sats, row.fifo_sats)), row.reason));
        let whole = tally.groups.values().chain([&tally.mined, &tally.fees]).chain(tally.stops.values());
        let rounding = tally.examined.saturating_sub(whole.map(Amounts::haircut_sats).sum());
        if rounding > 0 {
            rows.push(row("rounding", rounding, 0));
        }
        let before = self.total.saturating_sub(tally.examined);
        if before > 0 {
            rows.push(row("history_cap", before, before));
        }
        rows
    }
}

/// Sums of the counterparty and indirect amounts of a row.
fn sums(row: &GroupRow) -> (Sats, Sats) {
    let of = [&row.counterparty, &row.indirect];
    (of.iter().map(|of| of.haircut_sats).sum(), of.iter().map(|of| of.fifo_sats).sum())
}

fn in_sats(millionths: u128) -> Sats {
    Sats::try_from(millionths / MILLIONTHS).unwrap_or(Sats::MAX)
}

/// An amount by the two conventions.
pub(crate) fn split(amounts: &Amounts) -> Split {
    Split { haircut_sats: amounts.haircut_sats(), fifo_sats: amounts.fifo }
}

fn claim_share(script: &ClaimedScript, claim: &DirectClaim, (haircut_sats, fifo_sats): (Sats, Sats)) -> ClaimShare {
    ClaimShare {
        claim_id: claim.id.clone(),
        address: script.address.clone(),
        entity: claim.entity.clone(),
        claim_type: claim.claim_type.as_str(),
        level: claim.level,
        source: claim.source.clone(),
        authority: claim.authority.clone(),
        asserted_at: rfc3339(claim.since),
        haircut_sats,
        fifo_sats,
    }
}
