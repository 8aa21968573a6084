//! The request that a macaroon is bound to.

use cairn_http::SoldCall;
use cairn_l402::{Binding, BindingError, body_hash};
use sha2::{Digest, Sha256};

/// Hash of the body of a request: of no bytes if it has none.
pub(crate) fn body_of(sold: &SoldCall<'_>) -> [u8; 32] {
    body_hash(sold.body.as_deref().unwrap_or_default().as_bytes())
}

pub(crate) fn binding_of<'s>(sold: &'s SoldCall<'_>, body: [u8; 32]) -> Result<Binding<'s>, BindingError> {
    Binding::new(sold.method(), &sold.path, Some(sold.query.as_bytes()), body)
}

/// A hash that identifies the request: two have the same only if method, path, query and body are the same.
pub(crate) fn fingerprint_of(sold: &SoldCall<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [sold.method().as_bytes(), sold.path.as_bytes(), sold.query.as_bytes(), &body_of(sold)] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
