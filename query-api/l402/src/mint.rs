//! Makes the macaroon of a challenge.

use crate::{
    binding::Binding,
    caveats::of_request,
    identifier::Identifier,
    macaroon::{Full, Macaroon},
    secrets::RootKey,
};

/// Locations to try, in this order: each moves the bytes behind it to another place in their groups of three.
const LOCATIONS: [Option<&[u8]>; 3] = [None, Some(b"wr"), Some(b"wr_")];

/// `@getalby/lightning-tools` 9.0.1 (`parseL402`) removes this word where it first stands in the challenge, be it
/// inside of the token: its user pays, and sends a token that nobody issued.
const REMOVED_BY_CLIENTS: &str = "LSAT";

/// Makes a macaroon that opens this request until `expires` (seconds since 1970), once the payment is proved.
///
/// `root_key` and `identifier.token_id` are random and used for this macaroon only. Time that the caller grants after
/// the end of a challenge belongs into `expires`. One in 30 000 macaroons gets a location, which the signature does not
/// cover, because its base64 would otherwise have the word that a common client removes from it.
///
/// # Errors
/// Fails only if the path is so long that the macaroon would have more bytes than are read again.
pub fn mint(
    root_key: &RootKey,
    identifier: &Identifier,
    binding: &Binding<'_>,
    expires: u64,
) -> Result<Macaroon, Full> {
    let caveats = of_request(binding, expires);
    let at = |location| {
        let bare = Macaroon::new(root_key, location, &identifier.to_bytes())?;
        caveats.iter().try_fold(bare, |macaroon, caveat| macaroon.with_caveat(caveat.as_bytes()))
    };
    let is_kept = |macaroon: &Macaroon| !macaroon.to_base64().contains(REMOVED_BY_CLIENTS);
    let others = LOCATIONS.into_iter().skip(1);
    let plain = at(None)?;
    if is_kept(&plain) {
        return Ok(plain);
    }
    Ok(others.filter_map(|location| at(location).ok()).find(is_kept).unwrap_or(plain))
}
