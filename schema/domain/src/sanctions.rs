//! Rows of a list of sanctions: the listed parties, approvals of operators, and sums over all rows.

use std::collections::BTreeMap;

use cairn_events::{Claim, EntityName};
use cairn_model::date_of;

/// The party of a row, as its list names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Party<'a> {
    /// The publisher's number of the party; empty if the list has none.
    pub uid: &'a str,
    /// Its name; empty if the list has none.
    pub name: &'a str,
}

/// Begins the note of a row of OFAC's list, before the number of the party.
const UID: &str = "SDN uid ";
/// Follows the number, before the programmes.
const PROGRAMMES: &str = ", programmes ";

/// The party of a row.
#[must_use]
pub fn party(claim: &Claim) -> Party<'_> {
    let number = claim.note.strip_prefix(UID).map_or("", |rest| rest.split(',').next().unwrap_or_default());
    let uid = if number.bytes().all(|byte| byte.is_ascii_digit()) { number } else { "" };
    // A placeholder is not a name of an entity, but the list has it.
    let name = if claim.entity_name.is_empty() { &claim.label } else { &claim.entity_name };
    Party { uid, name }
}

/// The programmes of a row; none if its list has none.
pub fn programmes(claim: &Claim) -> impl Iterator<Item = &str> {
    let told = claim.note.strip_prefix(UID).and_then(|rest| rest.split_once(PROGRAMMES)).map_or("", |(_, told)| told);
    told.split(", ").filter(|name| !name.is_empty())
}

/// Entry of a list about an address, as a sentence without its end.
#[must_use]
pub fn statement(authority: &str, snapshot: u32, party: &Party<'_>) -> String {
    let named = if party.name.is_empty() { String::new() } else { format!(" under the name {}", party.name) };
    format!("listed by {authority} in the snapshot of {}{named}", date_of(snapshot))
}

/// Approval of a row by operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approval {
    /// Enough operators have approved it.
    Approved,
    /// One operator has approved it, and a second one must.
    AwaitsSecond,
    /// No operator has approved it.
    Pending,
    /// No operator has approved it, but the address was approved under another party.
    PartyChanged,
}

impl Approval {
    /// The state of a row with this number of approvals, if `four_eyes` of two approvers are needed or one is enough.
    /// `under_another`: the address has an approval under another party.
    #[must_use]
    pub const fn of(approvals: usize, under_another: bool, four_eyes: bool) -> Self {
        match approvals {
            0 if under_another => Approval::PartyChanged,
            0 => Approval::Pending,
            1 if four_eyes => Approval::AwaitsSecond,
            _ => Approval::Approved,
        }
    }

    /// Approvals that a row needs.
    #[must_use]
    pub const fn needed(four_eyes: bool) -> usize {
        if four_eyes { 2 } else { 1 }
    }
}

/// An entity with the addresses that a list has of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoveredEntity {
    /// Its name for paths.
    pub entity: EntityName,
    /// Its name as the list writes it.
    pub name: String,
    /// Addresses that are approved.
    pub covered: u64,
    /// Addresses of the list.
    pub listed: u64,
}

/// Sums of the rows of a list.
#[derive(Default, Debug)]
pub struct Coverage {
    /// Rows.
    pub listed: u64,
    /// Approved rows.
    pub approved: u64,
    /// Rows that are not approved: those below among them.
    pub pending: u64,
    /// Rows that one operator has approved, and another one must.
    pub awaiting_second: u64,
    /// Rows whose address was approved under another party.
    pub party_changed: u64,
    /// Approved rows about natural persons.
    pub persons: u64,
    /// Approved rows that name no entity.
    pub nameless: u64,
    entities: BTreeMap<EntityName, (String, u64, u64)>,
}

impl Coverage {
    /// Adds a row.
    pub fn add(&mut self, claim: &Claim, approval: Approval) {
        let is_approved = approval == Approval::Approved;
        self.listed += 1;
        match approval {
            Approval::Approved => self.approved += 1,
            _ => self.pending += 1,
        }
        self.awaiting_second += u64::from(approval == Approval::AwaitsSecond);
        self.party_changed += u64::from(approval == Approval::PartyChanged);
        self.persons += u64::from(is_approved && claim.is_person);
        match &claim.entity {
            // No directory has natural persons.
            _ if claim.is_person => {}
            None => self.nameless += u64::from(is_approved),
            Some(entity) => {
                let name = || (party(claim).name.to_owned(), 0, 0);
                let (_, covered, listed) = self.entities.entry(entity.clone()).or_insert_with(name);
                *covered += u64::from(is_approved);
                *listed += 1;
            }
        }
    }

    /// At most `most` entities, those with most covered addresses first. Entities without a covered address and natural
    /// persons are left out.
    #[must_use]
    pub fn top(&self, most: usize) -> Vec<CoveredEntity> {
        let mut found: Vec<CoveredEntity> = self
            .entities
            .iter()
            .filter(|(_, (_, covered, _))| *covered > 0)
            .map(|(entity, (name, covered, listed))| {
                let (entity, name) = (entity.clone(), name.clone());
                CoveredEntity { entity, name, covered: *covered, listed: *listed }
            })
            .collect();
        // The order of names stays where the numbers are the same.
        found.sort_by_key(|of| std::cmp::Reverse((of.covered, of.listed)));
        found.truncate(most);
        found
    }
}
