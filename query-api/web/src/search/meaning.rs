//! The possible meanings of a text that somebody searches for. Only its form is looked at here; whether such a thing
//! exists is for the operations to say.

use cairn_http::looks_secret;

pub(super) const MOST_ADDRESSES: usize = 100;
/// Shortest address of any form.
const SHORTEST_ADDRESS: usize = 25;
/// Beginnings of extended public keys.
const EXTENDED: [&str; 10] = ["xpub", "ypub", "zpub", "tpub", "upub", "vpub", "Ypub", "Zpub", "Upub", "Vpub"];
/// Beginnings of descriptors.
const DESCRIPTORS: [&str; 11] =
    ["pkh(", "wpkh(", "sh(", "wsh(", "tr(", "multi(", "sortedmulti(", "combo(", "addr(", "pk(", "rawtr("];
/// Beginnings of addresses whose case does not matter.
const BECH32: [&str; 3] = ["bc1", "tb1", "bcrt1"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Nothing,
    /// A private key or another secret. It is shown nowhere.
    Secret,
    /// A descriptor or an extended public key: whoever has it sees all addresses of the wallet.
    Wallet,
    Addresses(Vec<String>),
    Outpoint {
        txid: String,
        vout: u32,
    },
    /// A txid or the hash of a block.
    Hash(String),
    Height(u64),
    /// A day, as YYYY-MM-DD.
    Day(String),
    Address(String),
    Words(String),
}

impl Meaning {
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim().trim_matches(['"', '\'', '`']).trim();
        if text.is_empty() {
            return Meaning::Nothing;
        }
        if looks_secret(text) || text.split_whitespace().any(looks_secret) {
            return Meaning::Secret;
        }
        if EXTENDED.iter().chain(&DESCRIPTORS).any(|start| text.starts_with(start)) || has_origin(text) {
            return Meaning::Wallet;
        }
        let tokens: Vec<&str> =
            text.split([' ', '\t', '\r', '\n', ',', ';']).filter(|token| !token.is_empty()).collect();
        if tokens.len() > 1 && tokens.iter().all(|token| is_like_an_address(bare(token))) {
            return Meaning::Addresses(tokens.iter().take(MOST_ADDRESSES).map(|token| lower(bare(token))).collect());
        }
        match tokens.as_slice() {
            [token] => Self::of_one(bare(token)),
            _ => Meaning::Words(text.to_owned()),
        }
    }

    fn of_one(token: &str) -> Self {
        if let Some((txid, vout)) = token.split_once([':', '#']) {
            let vout = vout.strip_prefix("vout=").unwrap_or(vout);
            if let (true, Ok(vout)) = (is_hash(txid), vout.parse()) {
                return Meaning::Outpoint { txid: txid.to_lowercase(), vout };
            }
        }
        if is_hash(token) {
            return Meaning::Hash(token.to_lowercase());
        }
        let digits: String = token.chars().filter(|c| !matches!(c, '_' | '\'')).collect();
        let is_number = digits.len() <= 10 && digits.chars().all(|c| c.is_ascii_digit());
        if let Some(height) = digits.parse().ok().filter(|_| is_number) {
            return Meaning::Height(height);
        }
        if is_day(token) {
            return Meaning::Day(token.to_owned());
        }
        if is_like_an_address(token) { Meaning::Address(lower(token)) } else { Meaning::Words(token.to_owned()) }
    }
}

/// A token without what programs and people put around it: a scheme, the address of an explorer, parameters.
fn bare(token: &str) -> &str {
    let without_scheme = match token.get(..8) {
        Some(start) if start.eq_ignore_ascii_case("bitcoin:") => &token[8..],
        _ => token,
    };
    if let Some((_, rest)) = without_scheme.split_once("://") {
        let path = rest.split_once('?').map_or(rest, |(path, _)| path);
        return path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    }
    without_scheme.split_once('?').map_or(without_scheme, |(address, _)| address)
}

fn is_hash(token: &str) -> bool {
    token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_day(token: &str) -> bool {
    let parts: Vec<&str> = token.split('-').collect();
    let numbers = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    numbers && parts.iter().map(|part| part.len()).eq([4, 2, 2])
}

/// True for a key with its origin, as descriptors write it: `[d34db33f/84h/0h/0h]xpub…`.
fn has_origin(text: &str) -> bool {
    let rest = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    rest.is_some_and(|(_, key)| EXTENDED.iter().any(|start| key.starts_with(start)))
}

fn is_like_an_address(token: &str) -> bool {
    if let Some(hash) = token.strip_prefix("scripthash:") {
        return is_hash(hash);
    }
    (SHORTEST_ADDRESS..=100).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Writes an address whose case does not matter in lower case: people and QR codes write it in upper case.
fn lower(address: &str) -> String {
    let small = address.to_ascii_lowercase();
    if BECH32.iter().any(|start| small.starts_with(start)) { small } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
    const OLD: &str = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2";

    #[test]
    fn addresses_in_any_form() {
        let upper = ADDRESS.to_uppercase();
        for text in [
            ADDRESS.to_owned(),
            format!("  {ADDRESS} \n"),
            format!("bitcoin:{ADDRESS}?amount=1&label=a"),
            format!("BITCOIN:{upper}"),
            format!("https://mempool.space/address/{ADDRESS}"),
            format!("\"{ADDRESS}\""),
            upper.clone(),
            ADDRESS.replace("qw508", "QW508"),
        ] {
            assert_eq!(Meaning::of(&text), Meaning::Address(ADDRESS.to_owned()), "{text}");
        }
        assert_eq!(Meaning::of(OLD), Meaning::Address(OLD.to_owned()));
        let both = vec![ADDRESS.to_owned(), OLD.to_owned()];
        assert_eq!(Meaning::of(&format!("{ADDRESS}\r\n{OLD}")), Meaning::Addresses(both.clone()));
        assert_eq!(Meaning::of(&format!("{upper}, bitcoin:{OLD}")), Meaning::Addresses(both));
        let many = vec![OLD; 150].join(" ");
        assert!(matches!(Meaning::of(&many), Meaning::Addresses(all) if all.len() == MOST_ADDRESSES));
    }

    #[test]
    fn hashes_heights_and_days() {
        let hash = "AB".repeat(32);
        assert_eq!(Meaning::of(&hash), Meaning::Hash("ab".repeat(32)));
        for text in [format!("{hash}:7"), format!("{hash}#vout=7"), format!("https://x.example/tx/{hash}#vout=7")] {
            assert_eq!(Meaning::of(&text), Meaning::Outpoint { txid: "ab".repeat(32), vout: 7 }, "{text}");
        }
        assert_eq!(Meaning::of("840_000"), Meaning::Height(840_000));
        assert_eq!(Meaning::of("2024-03-01"), Meaning::Day("2024-03-01".to_owned()));
        assert_eq!(Meaning::of("2024-3-1"), Meaning::Words("2024-3-1".to_owned()));
        assert_eq!(Meaning::of("99999999999"), Meaning::Words("99999999999".to_owned()));
    }

    #[test]
    fn wallets_secrets_and_words() {
        let key = "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba";
        for text in [key.to_owned(), format!("wpkh({key}/0/*)"), format!("[d34db33f/84h/0h/0h]{key}")] {
            assert_eq!(Meaning::of(&text), Meaning::Wallet, "{text}");
        }
        let wif = "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN8rFTv2sfUK";
        assert_eq!(Meaning::of(wif), Meaning::Secret);
        assert_eq!(Meaning::of(&format!("key {wif}")), Meaning::Secret);
        assert_eq!(Meaning::of(" Stone Pool "), Meaning::Words("Stone Pool".to_owned()));
        assert_eq!([Meaning::of(" \n"), Meaning::of("\"\"")], [Meaning::Nothing, Meaning::Nothing]);
        // Texts that are cut anywhere are not cut inside a character.
        for text in ["bitcoiñ:x", "ééééééé", "[]", "://", ":", "#"] {
            let _ = Meaning::of(text);
        }
    }
}
