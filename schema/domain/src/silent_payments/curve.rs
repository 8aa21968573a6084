//! The curve.

use std::sync::LazyLock;

use bitcoin::secp256k1::{All, Secp256k1};

/// Its tables, made once.
pub(super) static SECP: LazyLock<Secp256k1<All>> = LazyLock::new(Secp256k1::new);
