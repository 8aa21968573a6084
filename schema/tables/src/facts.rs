//! Parameters of the index.
//!
//! ```text
//! facts  'f' ‖ name → text: network, prefix lengths, block folder
//! ```
//!
//! The network of a custom signet is `signet:` and its challenge in hexadecimal digits: a program that knows only the
//! default signet refuses it as an unknown network.

use bincode::{Decode, Encode};

use crate::{
    codec::bincode_value,
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct Facts("facts": String => Fact) in Home::Shared(b'f'), from Origin::Index;
}

/// A text.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Fact(pub String);

bincode_value!(Fact);
