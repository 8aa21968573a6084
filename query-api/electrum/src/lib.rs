//! The Electrum protocol, versions 1.4 to 1.4.3 and 1.6, for wallets that speak it.
//!
//! ```text
//! server ─► session ─► methods ─► electrum      connections ─► lines and notifications ─► one request ─► index
//!              │          │
//!              ▼          ▼
//!        line, rpc   status, checkpoint          framing │ hashes of histories and of headers
//!              │
//!       subscriptions ◄─ watch                   who hears of what ◄─ new blocks and mempool changes
//!       scans         ◄───┘                      silent payments of clients that lend their scan key
//! ```
//!
//! Each request is charged, admitted and stopped as requests over HTTP are ([`cairn_http::Api::work`]).
//! `docs/electrum.md` lists methods and limits.

mod answer;
mod checkpoint;
mod client;
mod electrum;
mod failure;
mod line;
mod methods;
mod negotiate;
mod options;
mod params;
mod rpc;
mod scans;
mod server;
mod session;
mod status;
mod subscriptions;
mod tls;
mod watch;

pub use options::Options;
pub use server::{Listeners, serve};
pub use tls::{Tls, TlsError};
