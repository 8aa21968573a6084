//! Read-only access to the index. A [`Reader`] creates [`View`]s. A view is pinned to one tip, so all reads of a
//! request are consistent. This crate has no write method: the writer is another crate.

mod alerted;
mod backward;
mod chain_index;
mod claims;
mod clusters;
mod coins;
mod contests;
mod damages;
mod days;
mod db;
mod dust;
mod entities;
mod error;
mod events;
mod exchange_flows;
mod facts;
mod families;
mod feed;
mod format;
mod forward;
mod freeze;
mod immature;
mod index_folder;
mod journal;
mod label_walk;
mod labels;
mod late;
mod listings;
mod memory;
mod mempool;
mod names;
mod open;
mod pubkeys;
mod raw;
mod replica;
mod rows;
mod script_hash;
mod script_owners;
mod scripts;
mod secondary;
mod silent_payments;
mod stages;
mod subjects;
mod table_file;
mod txs;
mod view;
mod volume;

pub use backward::{Backward, ConsolidationWalk, DormantWalk, MovementWalk, Transfer, TransferWalk};
pub use chain_index::{Brief, ChainIndex};
pub use claims::{ClaimDocument, ClaimWalk, ListClaims, MAX_LISTS, MAX_OF_A_LIST, ScriptClaims};
pub use clusters::{
    AsOf, ClaimedParts, ClaimedScripts, ClusterClaimWalk, ClusterNodes, ClusterRoot, ClusterSize, Explanation, LeftOut,
    MAX_COUNTED_CHILDREN, MAX_EXPLAINED_ROWS, MAX_STEPS, MemberPage, MemberPlace, Membership, SUSPECT_TRANSACTIONS,
    Step, SuspectMerge, Tie, WalkedNode, root_of,
};
pub use coins::UnspentCoin;
pub use contests::{ContestOf, MAX_CONTESTS};
pub use damages::{Damages, NAMELESS, ScrubState, Scrubbed};
pub use days::{BirthChange, BornOn, DaySums};
pub use db::{Db, damaged_db_options, db_options, family_options, family_options_within};
pub use entities::{EntityRow, Inherited};
pub use error::ReadError;
pub use events::{Assembler, SeriesSpan, VersionWalk, Versions, last_seq_of};
pub use exchange_flows::EXCHANGE_FLOWS;
pub use facts::Facts;
pub use families::{DroppingFamily, ReadersPaused};
pub use feed::{FeedSpan, MAX_ANNOUNCED};
pub use format::{check_format, check_format_in};
pub use freeze::freeze;
pub use immature::{COINBASE_MATURITY, YoungCoinbases};
pub use index_folder::IndexFolder;
pub use journal::JournalBlocks;
pub use label_walk::LabelWalk;
pub use labels::{MAX_SOURCES, SourceShare};
pub use late::{FlushAlertWalk, FlushWalk, WakeupWalk};
pub use listings::{ListOf, ListsOf, MAX_LISTED, MAX_LISTINGS};
pub use memory::{ReadMemory, files_memory};
pub use names::{FoundName, FoundNames, MAX_NAME_ROWS, NameMatch, NameQuery};
pub use open::{Reader, facts_in};
pub use pubkeys::FoundKey;
pub use raw::{RawBlocks, RawError};
pub use replica::{REPLICA, mark_replica, replica_of};
pub use rows::{TableSize, TableSum};
pub use script_owners::{ScriptOwner, ScriptStanding};
pub use scripts::{FoundScript, SumsBefore};
pub use secondary::{Advanced, SecondaryReader};
pub use stages::{StageState, StageStatus};
pub use subjects::{
    ClaimView, ClusterView, DayView, EntityView, FeedView, FlowView, LabelView, LedgerView, MovementView, ScriptView,
    SilentPaymentView, TableView, TransactionView,
};
pub use table_file::{FileCheck, TableFile, bad_files, table_files_in};
pub use txs::{BriefTx, StoredTx};
pub use view::{Scan, Tip, View};
pub use volume::{BlockVolume, Volume, WEEK_BLOCKS};
