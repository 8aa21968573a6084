//! The form of a wallet, and which operation answers it.

use serde::Deserialize;
use serde_json::Value;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Entered {
    /// The search field calls it `q`.
    #[serde(alias = "q")]
    wallet: String,
    gap_limit: String,
    currency: String,
}

/// The subject of a form.
#[derive(PartialEq, Debug)]
pub(super) enum Asked<'a> {
    /// Addresses, one a line.
    Addresses(Vec<&'a str>),
    /// Descriptors and keys, as the operation takes them.
    Wallet(Value),
}

const BECH32: [&str; 3] = ["bc1", "tb1", "bcrt1"];
/// Most characters of an address in Base58. Private keys have more.
const BASE58: std::ops::RangeInclusive<usize> = 26..=36;

/// True if a line has the form of an address. Everything else goes to the operation that refuses private keys, and
/// never repeats its input.
fn is_address(line: &str) -> bool {
    let small = line.to_ascii_lowercase();
    let is_plain = line.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_bech32 = BECH32.iter().any(|start| small.starts_with(start)) && line.len() <= 90;
    let is_base58 = BASE58.contains(&line.len()) && line.starts_with(['1', '2', '3', 'm', 'n']);
    let is_hash = small
        .strip_prefix("scripthash:")
        .is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_plain && (is_bech32 || is_base58)) || is_hash
}

/// The text as Bitcoin Core's `listdescriptors` writes it.
fn from_core(text: &str) -> Option<Value> {
    match serde_json::from_str(text).ok()? {
        Value::Array(all) => Some(Value::Array(all)),
        Value::Object(mut object) => object.remove("descriptors").filter(Value::is_array),
        _ => None,
    }
}

impl Entered {
    /// Its subject; `None` if nothing is entered.
    pub(super) fn asked(&self) -> Option<Asked<'_>> {
        if let Some(wallet) = from_core(&self.wallet) {
            return Some(Asked::Wallet(wallet));
        }
        let lines: Vec<&str> = self.wallet.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            None
        } else if lines.iter().all(|line| is_address(line)) {
            Some(Asked::Addresses(lines))
        } else {
            Some(Asked::Wallet(Value::from(lines)))
        }
    }

    /// The gap limit: a number if it is one. The operation refuses other texts.
    pub(super) fn gap_limit(&self) -> Option<Value> {
        match self.gap_limit.trim() {
            "" => None,
            text => Some(text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from)),
        }
    }

    pub(super) fn currency(&self) -> Option<&str> {
        Some(self.currency.trim()).filter(|currency| !currency.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(wallet: &str) -> Entered {
        Entered { wallet: wallet.to_owned(), ..Entered::default() }
    }

    #[test]
    fn only_addresses_are_asked_about_as_addresses() {
        let both = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\r\n\n bcrt1q7htgpksx0p2v6cx5t5xpgsulvfawkelqtkzghg ";
        assert!(matches!(entered(both).asked(), Some(Asked::Addresses(lines)) if lines.len() == 2));
        for other in [
            "5KJvsngHeMpm884wtkJNzQGaCErckhHJBGFsvd3VyK5qMZXj3hS",
            "abandon abandon abandon",
            "wpkh(tpub/0/*)",
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\ntpubX",
            "[d34db33f/84h/0h/0h]xpub/0/*",
        ] {
            assert!(matches!(entered(other).asked(), Some(Asked::Wallet(_))), "{other}");
        }
        assert_eq!(entered(" \n").asked(), None);
    }

    #[test]
    fn listed_descriptors_keep_their_ranges() {
        let core = r#"{"wallet_name":"w","descriptors":[{"desc":"d","range":[0,9]}]}"#;
        let wanted = serde_json::json!([{"desc": "d", "range": [0, 9]}]);
        assert_eq!(entered(core).asked(), Some(Asked::Wallet(wanted)));
        let limits =
            ["", "7", "x"].map(|text| Entered { gap_limit: text.to_owned(), ..Entered::default() }.gap_limit());
        assert_eq!(limits, [None, Some(Value::from(7)), Some(Value::from("x"))]);
    }
}
