//! The demo's invented labels, as documents for its ledger: claims of made-up sources about its actors. They include
//! all tiers of evidence, sources that agree, two that disagree on an owner, two that disagree on whether an address
//! belongs to a service, a report of a theft, a contested claim, and an address that a list no longer has.

use cairn_demo::{Actor, END_TIME};
use cairn_domain::script_sha256;
use cairn_events::{
    Behaviour, Body, Category, Claim, ClaimId, ClaimList,
    ClaimType::{self, BehavesAs, CoinbasePayoutOf, ControlledBy, ListedBy, ParticipatedIn},
    Contest, ContestAct, ContestParty, Document, DocumentHash,
    EvidenceTier::{
        self, AuthorityListed, AuthorityRecord, Behavioral, Community, Investigated, KeySigned, OnchainVerified,
        SelfDisclosed, ThirdParty,
    },
    Provenance,
};
use cairn_model::DAY_SECS;
use sha2::{Digest, Sha256};

use super::prices::slug;
use crate::exit::{Exit, Failure};

/// A document: source, list, seconds before the end of the chain, whether it is the whole list, its claims.
type DemoDocument = (&'static str, &'static str, u32, bool, &'static [Fact]);

/// Claims about an actor's address.
struct Fact {
    /// The actor, and the index of its address.
    of: (&'static str, usize),
    what: ClaimType,
    tier: EvidenceTier,
    /// Short name and name of the entity; empty if the claim names none.
    who: (&'static str, &'static str),
    category: Option<Category>,
    behaviour: Option<Behaviour>,
    /// The source's own words.
    words: &'static str,
}

impl Fact {
    const fn of(actor: &'static str, at: usize, what: ClaimType, tier: EvidenceTier) -> Self {
        Fact { of: (actor, at), what, tier, who: ("", ""), category: None, behaviour: None, words: "" }
    }

    const fn is(self, short: &'static str, name: &'static str, category: Category) -> Self {
        Fact { who: (short, name), category: Some(category), ..self }
    }

    const fn does(self, behaviour: Behaviour) -> Self {
        Fact { behaviour: Some(behaviour), ..self }
    }

    const fn says(self, words: &'static str) -> Self {
        Fact { words, ..self }
    }
}

const fn exchange(fact: Fact) -> Fact {
    fact.is("cairn-exchange", "Cairn Exchange", Category::Exchange)
}

const fn mixer(fact: Fact) -> Fact {
    fact.is("joint-path", "Joint Path", Category::Mixer)
}

const fn shop(fact: Fact) -> Fact {
    fact.is("waystone-shop", "Waystone Shop", Category::Shop)
}

const fn pool(fact: Fact) -> Fact {
    fact.is("stone-pool", "Stone Pool", Category::MiningPool)
}

const fn listed(actor: &'static str, words: &'static str) -> Fact {
    Fact::of(actor, 0, ListedBy, AuthorityListed).does(Behaviour::Sanctioned).says(words)
}

/// Claims of the sources, oldest first.
const DOCUMENTS: [DemoDocument; 12] = [
    // Claims that the later document of the list lacks are delisted.
    (
        "demo-authority",
        "list",
        700 * DAY_SECS,
        true,
        &[listed("mixer", "entry 1: Joint Path"), listed("whale", "entry 2: buyer of large pieces")],
    ),
    (
        "demo-register",
        "shops",
        600 * DAY_SECS,
        true,
        &[
            shop(Fact::of("merchant", 0, ControlledBy, AuthorityRecord)).says("register of shops, number 7"),
            shop(Fact::of("merchant", 1, ControlledBy, AuthorityRecord)).says("register of shops, number 7"),
        ],
    ),
    (
        "demo-study",
        "early-coins",
        500 * DAY_SECS,
        false,
        &[
            mixer(Fact::of("mixer", 0, ControlledBy, Investigated)).says("collects the coordinator's fee"),
            Fact::of("mixer", 0, ParticipatedIn, OnchainVerified)
                .does(Behaviour::Mixing)
                .says("joint transactions with equal outputs pay it"),
            Fact::of("sleeper", 0, ControlledBy, ThirdParty)
                .is("first-weeks-mining", "First Weeks Mining", Category::Miner)
                .says("mined in the first weeks"),
        ],
    ),
    (
        "demo-tags",
        "tags",
        400 * DAY_SECS,
        false,
        &[
            exchange(Fact::of("exchange", 0, ControlledBy, ThirdParty)).says("Cairn Exchange: hot wallet"),
            exchange(Fact::of("exchange", 2, ControlledBy, ThirdParty)).says("Cairn Exchange: deposit"),
            exchange(Fact::of("exchange", 3, ControlledBy, ThirdParty)).says("Cairn Exchange: deposit"),
            // Another source names another entity.
            Fact::of("sleeper", 0, ControlledBy, ThirdParty)
                .is("old-timer", "Old Timer", Category::Miner)
                .says("awake after thirteen years"),
            shop(Fact::of("merchant", 0, ControlledBy, ThirdParty)).says("donations of the Waystone Shop"),
        ],
    ),
    (
        "demo-exchange",
        "own-addresses",
        90 * DAY_SECS,
        true,
        &[
            exchange(Fact::of("exchange", 0, ControlledBy, SelfDisclosed)).does(Behaviour::HotWallet),
            exchange(Fact::of("exchange", 1, ControlledBy, SelfDisclosed)).does(Behaviour::ColdWallet),
            // It is spent together with the deposits of all customers, so those belong to the exchange as well.
            exchange(Fact::of("exchange", 2, ControlledBy, SelfDisclosed)).says("deposit address"),
            // A part of the loot ends here. It is never spent, so no cluster shows that it belongs to the exchange.
            exchange(Fact::of("exchange", 5, ControlledBy, SelfDisclosed)).says("deposit address"),
        ],
    ),
    (
        "demo-exchange",
        "signed",
        89 * DAY_SECS,
        false,
        &[exchange(Fact::of("exchange", 1, ControlledBy, KeySigned)).says("proof of reserves")],
    ),
    ("demo-pools", "pools", 60 * DAY_SECS, true, &[pool(Fact::of("pool", 0, CoinbasePayoutOf, Community))]),
    (
        "demo-patterns",
        "behaviour",
        30 * DAY_SECS,
        true,
        &[
            Fact::of("exchange", 0, BehavesAs, Behavioral).does(Behaviour::HotWallet).says("many pay it, it pays many"),
            Fact::of("whale", 0, BehavesAs, Behavioral).does(Behaviour::ColdWallet).says("receives, and hardly spends"),
        ],
    ),
    ("demo-authority", "list", 10 * DAY_SECS, true, &[listed("mixer", "entry 1: Joint Path")]),
    // The courier pays before and after that.
    (
        "demo-authority",
        "list",
        DAY_SECS / 2,
        true,
        &[listed("mixer", "entry 1: Joint Path"), listed("courier", "entry 3: a courier")],
    ),
    // A part of the loot stands still at the second address of the thief. One source says that it is at a service, the
    // next one that a private person holds it.
    (
        "demo-tags",
        "tags",
        DAY_SECS / 6,
        false,
        &[Fact::of("thief", 1, ControlledBy, ThirdParty)
            .is("hillside-wallet", "Hillside Wallet", Category::WalletService)
            .says("Hillside Wallet: customers")],
    ),
    (
        "demo-victims",
        "thefts",
        DAY_SECS / 8,
        false,
        &[
            Fact::of("thief", 0, ParticipatedIn, Investigated)
                .does(Behaviour::Theft)
                .says("12.5 BTC taken from a saver"),
            Fact::of("thief", 1, ControlledBy, ThirdParty)
                .is("night-hand", "Night Hand", Category::User)
                .says("a private person: 3.9 BTC of the loot"),
        ],
    ),
];

/// Returns the documents with claims about these actors.
///
/// # Errors
/// Fails if an actor or an address that the claims name is missing.
pub(super) fn documents(actors: &[Actor]) -> Result<Vec<Document>, Failure> {
    let mut all = DOCUMENTS.iter().map(|said| document(said, actors)).collect::<Result<Vec<_>, _>>()?;
    all.push(contest(&all)?);
    Ok(all)
}

/// Returns a contest by the operator: one of the addresses is not the exchange's.
fn contest(documents: &[Document]) -> Result<Document, Failure> {
    let lacks = || Failure::new(Exit::Other, "the demo has no claim to contest");
    let said = documents.iter().find_map(|document| match &document.body {
        Body::Claims { list, rows } if document.provenance.source.as_str() == "demo-tags" => {
            Some((&document.provenance, list, rows.get(2)?))
        }
        _ => None,
    });
    let (provenance, list, claim) = said.ok_or_else(lacks)?;
    let contest = Contest {
        script: script_sha256(&claim.script),
        source: provenance.source.clone(),
        list: list.name.clone(),
        statement: claim.statement(),
        claim: ClaimId { document: provenance.document, row: claim.row },
        act: ContestAct::Contests,
        by: ContestParty::Operator,
        reason: "the exchange says that this deposit address is a customer's own".to_owned(),
        signed: None,
    };
    let provenance = Provenance {
        source: slug("operator")?,
        licence: slug("operator")?,
        origin: "invented for the demo chain: a contest of the operator".to_owned(),
        retrieved_at: END_TIME - 5 * DAY_SECS,
        document: DocumentHash(Sha256::digest(claim.statement().0).into()),
    };
    Ok(Document { provenance, received_at: None, body: Body::Contest(Box::new(contest)) })
}

fn document(&(source, list, before, is_complete, facts): &DemoDocument, actors: &[Actor]) -> Result<Document, Failure> {
    let rows = (1..).zip(facts).map(|(row, fact)| claim(row, fact, actors)).collect::<Result<Vec<_>, _>>()?;
    let mut hasher = Sha256::new();
    hasher.update(format!("{source} {list} {}", before / DAY_SECS));
    for (claim, fact) in rows.iter().zip(facts) {
        hasher.update(&claim.script);
        hasher.update(format!("{} {} {} {}", claim.claim_type, claim.tier, fact.who.0, fact.words));
    }
    let provenance = Provenance {
        source: slug(source)?,
        licence: slug("cc0-1.0")?,
        origin: format!("invented for the demo chain: the list {list:?} of {source}"),
        retrieved_at: END_TIME - before,
        document: DocumentHash(hasher.finalize().into()),
    };
    let list = ClaimList { name: slug(list)?, is_complete };
    Ok(Document { provenance, received_at: None, body: Body::Claims { list, rows } })
}

fn claim(row: u32, fact: &Fact, actors: &[Actor]) -> Result<Claim, Failure> {
    let (actor, at) = fact.of;
    let address = actors.iter().find(|of| of.name == actor).and_then(|of| of.addresses.get(at));
    let lacks = || Failure::new(Exit::Other, format!("the demo has no address {at} of its {actor}"));
    let script = address.ok_or_else(lacks)?.script_pubkey();
    let (short, name) = fact.who;
    let entity = match short {
        "" => None,
        short => {
            Some(short.parse().map_err(|_| Failure::new(Exit::Other, format!("{short} is not a name of an entity")))?)
        }
    };
    let claim = Claim::bare(row, script.as_bytes().into(), fact.what, fact.tier);
    Ok(Claim {
        // Default for lists that do not specify it.
        is_inherited: fact.what.makes_members() && claim.level >= 40,
        entity,
        entity_name: name.into(),
        category: fact.category,
        behaviour: fact.behaviour,
        label: fact.words.into(),
        note: "invented for the demo chain".into(),
        ..claim
    })
}
