//! Service state: what users and operators write, apart from the index, in SQL. SQLite in a file by default, PostgreSQL
//! by URL, with the same statements on both.
//!
//! Kept here so far: bridge keys and wallet sessions ([`Key`]), of which only hashes are stored, and what clients have
//! to say about data and labels ([`Ticket`]).

mod error;
mod feedback;
mod keys;
mod migrations;
mod pool;
mod secret;
mod store;
mod url;

pub use error::{MAX_LABEL_CHARS, MAX_MESSAGE_CHARS, MAX_TEXT_CHARS, StateError};
pub use feedback::{
    CLIENT_WINDOW, Closing, MAX_OPEN_TICKETS, MAX_TICKETS_OF_CLIENT, NewTicket, Submission, Ticket, TicketKind,
    TicketState,
};
pub use keys::{Key, KeyState, NewKey, Revocation, Verdict};
pub use secret::{BadSecret, KeyKind, Secret};
pub use store::State;
pub use url::StateUrl;
