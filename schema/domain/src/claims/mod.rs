//! The judgement over claims: which of them stand, how much they weigh, their common result, and its wording in
//! answers.
//!
//! Pure: the caller reads the claims of a script, its own and those inherited from its cluster, and passes all of them,
//! in any order. Of one source, list and script it passes the newest version only. The cost is that of sorting them.

mod best;
mod card;
mod caveat;
mod consensus;
mod contributors;
mod detail;
mod facts;
mod flags;
mod level;
mod origins;
mod short;
mod stale;
mod standing;
mod wording;

pub use card::{Assessment, Card, CardLabel, card};
pub use caveat::{ClaimCaveat, FEED_STALE_AFTER, MAX_NAMED};
pub use consensus::{Basis, Consensus, ConsensusState, Membership, Tally, consensus, membership};
pub use contributors::{CategoryShare, Contributors, OriginDepth, contributors};
pub use detail::{Detail, Evidence, EvidenceGroup, detail};
pub use facts::Facts;
pub use flags::{HistoricalFlag, Listing, Risk, historical_flags, is_flag, listings};
pub use level::{Confidence, LABELS_FROM, Strength, inherited_level};
pub use origins::{authority, origin_group};
pub use short::{ShortLabel, labelling, short_label};
pub use stale::{STALE_AFTER, confidence_tier, is_stale, kept_confidence_tier};
pub use standing::{At, ClaimStatus, Stated, heritable, is_heritable, standings};
pub use wording::{explanation, headline};
