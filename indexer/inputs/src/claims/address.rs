//! Addresses of files of labels: which are of our network, and which of another asset.

use std::sync::Arc;

use cairn_domain::{AddressError, Subject, parse_address};
use cairn_events::claim::MAX_SCRIPT;
use cairn_model::Network;

use super::report::ClaimCode;

/// Prefix of a script that has no address, in hexadecimal digits.
const SCRIPT: &str = "script:";

/// Parses an address into its script. With `has_scripts`, `script:<hex>` is read, too.
///
/// # Errors
/// Returns what is wrong; for an address of another asset, the error names the asset.
pub(super) fn script_of(
    text: &str,
    network: Network,
    has_scripts: bool,
) -> Result<Arc<[u8]>, (ClaimCode, Option<&'static str>)> {
    if has_scripts && let Some(digits) = text.strip_prefix(SCRIPT) {
        let script = if digits.len() <= 2 * MAX_SCRIPT { hex::decode(digits).ok() } else { None };
        let script = script.filter(|script| !script.is_empty());
        return script.map(Arc::from).ok_or((ClaimCode::InvalidAddress, None));
    }
    match parse_address(text, Some(network)) {
        Ok(Subject::Script(script)) => Ok(script.into()),
        Ok(Subject::ScriptHash(_)) => Err((ClaimCode::NotAnAddress, None)),
        Err(AddressError::WrongNetwork(_)) => Err((ClaimCode::WrongNetwork, None)),
        Err(AddressError::Invalid(_)) => match asset_of(text) {
            Some(asset) => Err((ClaimCode::OtherAsset, Some(asset))),
            None => Err((ClaimCode::InvalidAddress, None)),
        },
    }
}

/// Whether a code of a currency or network is Bitcoin's.
pub(super) fn is_bitcoin(currency: &str) -> bool {
    ["BTC", "XBT", "BITCOIN"].iter().any(|known| currency.eq_ignore_ascii_case(known))
}

/// The asset whose addresses have such a form. Only for texts that are not addresses of Bitcoin: a few forms are
/// shared.
fn asset_of(text: &str) -> Option<&'static str> {
    let is_base58 = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l'))
    };
    let is_bech32 = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if let Some(digits) = text.strip_prefix("0x") {
        return (digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some("ETH");
    }
    if let Some((prefix, rest)) = text.split_once(':') {
        return (prefix == "bitcoincash" && is_bech32(rest)).then_some("BCH");
    }
    if is_bech32(text) {
        let known = [("ltc1", "LTC"), ("bnb1", "BNB"), ("addr1", "ADA"), ("cosmos1", "ATOM"), ("zs1", "ZEC")];
        if let Some((_, asset)) = known.into_iter().find(|(prefix, _)| text.starts_with(prefix)) {
            return Some(asset);
        }
        if text.len() == 42 && text.starts_with(['q', 'p']) {
            return Some("BCH");
        }
    }
    if !is_base58(text) {
        return None;
    }
    match (text.as_bytes().first()?, text.len()) {
        (b'T', 34) => Some("TRX"),
        (b'4' | b'8', 95 | 106) => Some("XMR"),
        (b'L' | b'M', 34) => Some("LTC"),
        (b'X', 34) => Some("DASH"),
        (b'D' | b'A', 34) => Some("DOGE"),
        (b't', 35) => Some("ZEC"),
        (b'r', 25..=35) => Some("XRP"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_other_assets() {
        for (text, asset) in [
            ("0xbe0eb53f46cd790cd13851d5eff43d12404d33e8", Some("ETH")),
            ("TKHuVq1oKVruCGLvqVexFs6dawKv6fQgFs", Some("TRX")),
            ("rGeyCsqc6vKXuyTGF39WJxmTRemoV3c97h", Some("XRP")),
            ("t1ZmpK4QFcvyQZ3ghTgSboBW8b4HgiZHQF9", Some("ZEC")),
            ("bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a", Some("BCH")),
            ("ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9", Some("LTC")),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(asset_of(text), asset, "{text}");
        }
    }

    #[test]
    fn scripts_only_where_they_may_be() {
        let read = |text, has_scripts| script_of(text, Network::Main, has_scripts).map(|script| script.to_vec());
        assert_eq!(read("script:51ae", true), Ok(vec![0x51, 0xae]));
        for (text, has_scripts) in [("script:51ae", false), ("script:", true), ("script:5", true), ("script:zz", true)]
        {
            assert_eq!(read(text, has_scripts), Err((ClaimCode::InvalidAddress, None)), "{text}");
        }
        let hash = format!("scripthash:{}", "00".repeat(32));
        assert_eq!(read(&hash, true), Err((ClaimCode::NotAnAddress, None)));
        assert_eq!(read("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", true), Err((ClaimCode::WrongNetwork, None)));
    }
}
