//! The command line of labels, mining pools and lists of sanctions.

use cairn_events::{Behaviour, Category, ClaimId, ClaimType, EntityName, EvidenceTier, Slug};
use cairn_inputs::{ClaimLayout, ClaimMap};
use clap::{Args, Subcommand};

use super::import::Import;
use crate::config::{IndexDir, StateDb};

#[derive(Args, Debug)]
pub(crate) struct LabelsArgs {
    #[command(subcommand)]
    pub(crate) what: LabelsCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LabelsCommand {
    /// Reads a file of labels and takes it into the ledger: a GraphSense TagPack or ActorPack, a CSV file of facts, or
    /// another CSV file with a map of its columns.
    Import(Box<LabelsImport>),
    /// Prints what every list says of an address, as JSON.
    Show(LabelsShow),
    /// Prints the lists of claims: how many claims, how old.
    Status(LabelsStatus),
    /// Prints the sources of claims with their licences, and what these ask to be said.
    Licences(IndexDir),
    /// Contests what a claim says. The claim stays visible, marked as contested, and makes no member of an entity.
    /// Entries of an authority's list and facts of the chain cannot be contested.
    Dispute(LabelsContest),
    /// Ends a contest: what the claim says counts again.
    Resolve(LabelsContest),
    /// Blanks what a claim says, everywhere and for good: in the ledger, in all tables, and wherever a later file of
    /// the list repeats it. Its hash and the reason are kept. Copies and exports that were made before still have it.
    Redact(LabelsContest),
}

#[derive(Args, Debug)]
pub(crate) struct LabelsImport {
    #[command(flatten)]
    pub(crate) from: Import,
    /// Who says it: a short name in small letters. A newer file of the same list of a source replaces what an older one
    /// says of a script. Default: what the file says, such as the creator of a pack.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<Slug>,
    /// Name of the list among those of the source. Default: the name of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) list: Option<Slug>,
    /// The file is the whole list: what an older file says, and this one does not, no longer holds.
    #[arg(long)]
    pub(crate) complete: bool,
    /// The layout of the file. Default: it is recognised.
    #[arg(long, value_name = "NAME")]
    pub(crate) layout: Option<ClaimLayout>,
    /// Describes the columns of a CSV file of another layout, for example address=Address,label=Name. A file whose
    /// first line names its columns address, label, entity, category and so on needs none.
    #[arg(long, value_name = "MAP")]
    pub(crate) map: Option<ClaimMap>,
    /// The claim type of rows without one, for example controlled_by or reported_as.
    #[arg(long, value_name = "TYPE")]
    pub(crate) claim_type: Option<ClaimType>,
    /// The evidence tier of rows without one, for example self_disclosed or third_party.
    #[arg(long, value_name = "TIER")]
    pub(crate) evidence_tier: Option<EvidenceTier>,
    /// The entity, if they do not name it themselves.
    #[arg(long, value_name = "NAME")]
    pub(crate) entity: Option<EntityName>,
    /// The category of rows without one, for example exchange.
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<Category>,
    /// The behaviour of rows without one, for example ransomware.
    #[arg(long, value_name = "NAME")]
    pub(crate) behaviour: Option<Behaviour>,
}

#[derive(Args, Debug)]
pub(crate) struct LabelsShow {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Address on the network of the index, or scripthash:<hex> with SHA-256(scriptPubKey) in natural byte order.
    pub(crate) address: String,
}

#[derive(Args, Debug)]
pub(crate) struct LabelsContest {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Why. The ledger keeps it, and answers show it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Id of the claim, from `cairn labels show` or from the claim_id of an answer.
    pub(crate) claim: ClaimId,
}

#[derive(Args, Debug)]
pub(crate) struct LabelsStatus {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Prints a JSON object for each list, on a line of its own.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PoolsArgs {
    #[command(subcommand)]
    pub(crate) what: PoolsCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PoolsCommand {
    /// Reads a list of mining pools (pools-v2.json or pools.json) and takes their payout addresses and tags into the
    /// ledger. The file is the whole list.
    Import(PoolsImport),
}

#[derive(Args, Debug)]
pub(crate) struct PoolsImport {
    #[command(flatten)]
    pub(crate) from: Import,
    /// Who says it: a short name in small letters, for example mempool.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<Slug>,
}
