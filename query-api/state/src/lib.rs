//! Service state: data of users and operators, in SQL, separate from the index. Default: a SQLite file. A URL selects
//! PostgreSQL, with the same statements.
//!
//! It stores bridge keys and wallet sessions ([`Key`]) and codes that give them ([`Code`]), only as hashes; feedback of
//! clients about data and labels ([`Ticket`]), approvals of rows of lists of sanctions ([`Approvals`]), addresses that
//! clients pay to, reports of clients with their votes ([`Report`]), and keys by which a service recognizes what it
//! gave out. Machines that serve copies of an index leave documents in it for the one that writes the index
//! ([`WaitingEntry`]), and read how far that one is ([`WriterTip`]). Hashes to anchor in the chain are accepted here
//! ([`State::submit_timestamp`]), and followed by the process that holds the [`AnchorLease`].
//! Sales call by call are here too: challenges of L402 ([`Challenge`]) and payments of x402 ([`X402Payment`]). On
//! regtest, a simulated Lightning node has its invoices here ([`SimulatedInvoice`]). Passes are sold by checkouts
//! ([`Checkout`]), each of which gives a key.

mod approval;
mod approvals;
mod checkouts;
mod codes;
mod erasure;
mod error;
mod feedback;
mod identity;
mod keys;
mod last_use;
mod mark;
mod migrations;
mod named;
mod payments;
mod pool;
mod random;
mod remember;
mod replies;
mod report;
mod report_counts;
mod reports;
mod sales;
mod secret;
mod service_secret;
mod sqlite;
mod store;
mod timestamps;
mod upkeep;
mod url;
mod uses;
mod votes;
mod waiting;
mod writers;

pub use approval::{Approval, Approvals, ApprovedRow, Approver, FeedCheck, SeenRow};
pub use checkouts::{
    CHECKOUT_WATCHED_SECS, Checkout, CheckoutPayment, CheckoutState, Claiming, MAX_CHECKOUTS_OF_CLIENT,
    MAX_OPEN_CHECKOUTS, NewCheckout, OpenedCheckout, OpeningCheckout, PassCounts, PaymentBlock, PaymentInvoice,
    SeenPayment, TOP_UP_SECS,
};
pub use codes::{Code, CodeState, NewCode, Redemption};
pub use erasure::UNPAID_KEPT;
pub use error::{
    FileMismatch, MAX_APPROVALS, MAX_APPROVER_CHARS, MAX_DIGEST_BYTES, MAX_LABEL_CHARS, MAX_MESSAGE_CHARS,
    MAX_REPLY_CHARS, MAX_REPORT_CHARS, MAX_REPORT_TXIDS, MAX_TEXT_CHARS, MAX_WAITING, MAX_WAITING_BYTES,
    MAX_WAITING_ENTRY, MAX_WAITING_TIMESTAMPS, StateError,
};
pub use feedback::{
    CLIENT_WINDOW, Closing, MAX_OPEN_TICKETS, MAX_TICKETS_OF_CLIENT, NewTicket, Submission, Ticket, TicketKind,
    TicketState,
};
pub use keys::{Key, KeyState, NewKey, Revocation, Verdict};
pub use migrations::newest as newest_schema;
pub use payments::{Allotted, IndexUse, PaymentCounter, PaymentSkip};
pub use replies::Replying;
pub use report::{NewReport, PublishingBlock, Reply, Report, Visibility};
pub use report_counts::ReportCounts;
pub use reports::{Creation, DoneAct, MAX_OPEN_REPORTS, MAX_REPORTS_OF_CLIENT, Moderation, ReportAct, ReportPosition};
pub use sales::{
    Challenge, ChallengeLease, ChallengeSecrets, ChallengeState, ChallengeStatus, Leasing, MAX_CHALLENGES_OF_CLIENT,
    MAX_NOT_FOUND_RELEASES, MAX_OPEN_CHALLENGES, MAX_SALES_DAYS, NewChallenge, NewX402Payment, Offering,
    PAID_GRACE_SECS, REOPENED_SECS, Redeeming, Release, Releasing, ReopenedChallenge, Reopening, SALES_KEPT_SECS,
    SAME_CHALLENGE_SECS, SalesCounts, SalesMethod, SalesRow, SettlementOutcome, SimulatedInvoice, X402Lease,
    X402Payment, X402PaymentKey, X402PaymentState, X402Taking,
};
pub use secret::{BadSecret, ClaimSecret, CodeSecret, KeyKind, Secret};
pub use service_secret::ServiceSecret;
pub use store::State;
pub use timestamps::{
    AnchorLease, AnchorerReport, Batch, BatchConfirmation, BatchNodes, BatchState, BatchTree, Candidate,
    MAX_BATCH_HASHES, MAX_QUEUED_TIMESTAMPS, NewCandidate, NewTimestamp, SubmittedTimestamp, TimestampRecord,
    TimestampSource, TimestampState, WaitingTimestamps, WalletState,
};
pub use upkeep::{CheckReport, accept, backup, check};
pub use url::StateUrl;
pub use votes::{ClientHashes, ClientKeys, VOTE_WINDOW, Voting};
pub use waiting::{NewEntry, WaitingEntry};
pub use writers::WriterTip;
