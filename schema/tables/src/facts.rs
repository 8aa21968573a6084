//! Parameters of the index.
//!
//! ```text
//! facts  'f' ‖ name → text: network, prefix lengths, block folder
//! ```

use bincode::{Decode, Encode};

use crate::{
    codec::bincode_value,
    table::{Home, Origin, Table},
};

/// The table.
pub struct Facts;

impl Table for Facts {
    const NAME: &'static str = "facts";
    const HOME: Home = Home::Shared(b'f');
    const ORIGIN: Origin = Origin::Index;
    type Key = String;
    type Value = Fact;
}

/// A text.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Fact(pub String);

bincode_value!(Fact);
