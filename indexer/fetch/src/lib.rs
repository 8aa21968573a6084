//! Inputs from the network: documents that an operator names by a URL, and prices that exchanges and central banks
//! publish.
//!
//! [`Client`] makes one GET request with limits on bytes and time. It connects only to addresses of the public network
//! unless others are allowed, and checks the address that it really connects to. [`unpack`] opens gzip and ZIP files
//! within limits.

mod address;
mod body;
mod client;
mod error;
pub mod live;
mod pack;
pub mod providers;
mod times;
mod url;
mod validators;
mod wire;

pub use address::is_global;
pub use body::Body;
pub use client::{Answer, Client, Fetched, Limits, MAX_REDIRECTS};
pub use error::{FetchError, UrlError};
pub use pack::{PackError, unpack};
pub use url::Url;
pub use validators::{FetchRecord, Validators};
