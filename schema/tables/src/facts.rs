//! Parameters of the index.
//!
//! ```text
//! facts  'f' ‖ name → text: network (of a custom signet, `signet:` and its challenge), prefix lengths, block folder
//! ```

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
