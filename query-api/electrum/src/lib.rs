//! The Electrum protocol.
