//! Key expressions (BIP 380, 389 and 390): text in, public keys out.

use std::{str::FromStr, sync::LazyLock};

use bitcoin::{
    NetworkKind, PublicKey, XOnlyPublicKey, base58,
    bip32::{ChildNumber, Fingerprint, Xpub},
    secp256k1::{self, Parity, Secp256k1, VerifyOnly},
};

use crate::{
    musig,
    refusal::{MAX_BRANCHES, Refusal},
};

static SECP: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// First index that is hardened.
pub(crate) const HARDENED: u32 = 1 << 31;
/// Prefixes of SLIP 132, which descriptors do not have.
const OTHER_PREFIXES: [&str; 8] = ["ypub", "zpub", "Ypub", "Zpub", "upub", "vpub", "Upub", "Vpub"];
/// Deepest key that BIP 32 allows.
const MAX_DEPTH: usize = 255;
/// Longest extended key in characters: 82 bytes in base 58. Decoding takes the square of the length.
pub(crate) const MAX_EXTENDED_CHARS: usize = 112;

/// The keys that the function around a key allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllowedKeys {
    /// Before segregated witness: also uncompressed keys.
    Legacy,
    /// Segregated witness, version 0.
    Witness,
    /// Taproot: also keys without parity, and `musig`.
    Taproot,
    /// Inside `musig`.
    Musig,
}

/// A key expression without alternatives.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Single(PublicKey),
    Extended(Xpub, Path),
    /// The aggregate of keys; if they are extended, a path can follow.
    Aggregate(Vec<Key>, Path),
}

/// The steps after a key.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Path {
    steps: Vec<ChildNumber>,
    has_wildcard: bool,
}

impl Path {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && !self.has_wildcard
    }

    /// Derives the key at the end of the path.
    fn follow(&self, from: &Xpub, index: u32) -> Result<PublicKey, Refusal> {
        let last = self.has_wildcard.then_some(ChildNumber::Normal { index });
        let steps: Vec<ChildNumber> = self.steps.iter().copied().chain(last).collect();
        let key = from.derive_pub(&*SECP, &steps).map_err(|_| Refusal::Hardened)?;
        Ok(PublicKey::new(key.public_key))
    }

    /// Takes the steps before the wildcard.
    fn prepared(&self, from: &Xpub) -> Result<Key, Refusal> {
        if self.has_wildcard {
            let key = from.derive_pub(&*SECP, &self.steps).map_err(|_| Refusal::Hardened)?;
            Ok(Key::Extended(key, Path { steps: Vec::new(), has_wildcard: true }))
        } else {
            Ok(Key::Single(self.follow(from, 0)?))
        }
    }
}

impl Key {
    /// True if it has another key for each index.
    pub(crate) fn has_wildcard(&self) -> bool {
        match self {
            Key::Single(_) => false,
            Key::Extended(_, path) => path.has_wildcard,
            Key::Aggregate(keys, path) => path.has_wildcard || keys.iter().any(Key::has_wildcard),
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self, Key::Single(key) if !key.compressed)
    }

    /// Returns the last step before the wildcard; for an aggregate, its own or that of a key in it.
    pub(crate) fn last_step(&self) -> Option<u32> {
        match self {
            Key::Single(_) => None,
            Key::Extended(_, path) => path.steps.last().map(|step| u32::from(*step)),
            Key::Aggregate(keys, path) => {
                path.steps.last().map(|step| u32::from(*step)).or_else(|| keys.iter().find_map(Key::last_step))
            }
        }
    }

    /// Derives the public key of an index.
    ///
    /// # Errors
    /// Fails if a step cannot be taken, which happens to one key in 2^127.
    pub(crate) fn at(&self, index: u32) -> Result<PublicKey, Refusal> {
        match self {
            Key::Single(key) => Ok(*key),
            Key::Extended(key, path) => path.follow(key, index),
            Key::Aggregate(keys, path) => {
                let keys: Result<Vec<_>, _> = keys.iter().map(|key| Ok(key.at(index)?.inner)).collect();
                let sum = musig::aggregate_sorted(&SECP, keys?).ok_or(Refusal::Key)?;
                if path.is_empty() { Ok(PublicKey::new(sum)) } else { path.follow(&musig::extended(sum), index) }
            }
        }
    }

    /// Takes the steps before the index once, not for each script.
    pub(crate) fn prepared(self) -> Result<Self, Refusal> {
        match self {
            single @ Key::Single(_) => Ok(single),
            Key::Extended(key, path) => path.prepared(&key),
            Key::Aggregate(keys, path) if keys.iter().any(Key::has_wildcard) => {
                let keys: Result<Vec<_>, _> = keys.into_iter().map(Key::prepared).collect();
                Ok(Key::Aggregate(keys?, path))
            }
            Key::Aggregate(keys, path) => {
                let sum = Key::Aggregate(keys, Path::default()).at(0)?;
                if path.is_empty() { Ok(Key::Single(sum)) } else { path.prepared(&musig::extended(sum.inner)) }
            }
        }
    }
}

/// Reads a key expression: a key for each of its alternatives.
pub(crate) fn read(text: &str, allowed: AllowedKeys, network: NetworkKind) -> Result<Vec<Key>, Refusal> {
    if let Some(inner) = text.strip_prefix("musig(") {
        return if allowed == AllowedKeys::Taproot { read_musig(inner, network) } else { Err(Refusal::Place) };
    }
    let key = match text.strip_prefix('[') {
        Some(rest) => {
            let (origin, key) = rest.split_once(']').ok_or(Refusal::Origin)?;
            check_origin(origin)?;
            key
        }
        None => text,
    };
    if key.contains(['[', ']']) {
        return Err(Refusal::Origin);
    }
    let (key, path) = key.split_once('/').map_or((key, None), |(key, path)| (key, Some(path)));
    if key.is_empty() {
        return Err(Refusal::NoKey);
    }
    if key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return if path.is_some() { Err(Refusal::NoPath) } else { Ok(vec![Key::Single(read_single(key, allowed)?)]) };
    }
    let key = read_extended(key, network)?;
    let paths = read_path(path)?;
    if paths.iter().any(|path| usize::from(key.depth) + path.steps.len() + usize::from(path.has_wildcard) > MAX_DEPTH) {
        return Err(Refusal::Depth);
    }
    Ok(paths.into_iter().map(|path| Key::Extended(key, path)).collect())
}

/// Reads the text behind `musig(`.
fn read_musig(text: &str, network: NetworkKind) -> Result<Vec<Key>, Refusal> {
    let (inner, rest) = text.split_once(')').ok_or(Refusal::Parentheses)?;
    if inner.is_empty() {
        return Err(Refusal::NoKey);
    }
    let keys: Result<Vec<_>, _> = inner.split(',').map(|key| read(key, AllowedKeys::Musig, network)).collect();
    let keys = keys?;
    let paths = match rest.strip_prefix('/') {
        None if rest.is_empty() => vec![Path::default()],
        None => return Err(Refusal::Parentheses),
        Some(path) => {
            let may_derive = |key: &Key| matches!(key, Key::Extended(_, path) if !path.has_wildcard);
            if !keys.iter().flatten().all(may_derive) {
                return Err(Refusal::Musig);
            }
            read_path(Some(path))
                .map_err(|refusal| if refusal == Refusal::Hardened { Refusal::Musig } else { refusal })?
        }
    };
    if paths.iter().any(|path| path.steps.len() + usize::from(path.has_wildcard) > MAX_DEPTH) {
        return Err(Refusal::Depth);
    }
    let count = branch_count(&keys)?;
    if count > 1 && paths.len() > 1 {
        return Err(Refusal::Musig);
    }
    let branch =
        |at| Key::Aggregate(alternative(&keys, at), paths.get(at).or(paths.first()).cloned().unwrap_or_default());
    Ok((0..count.max(paths.len())).map(branch).collect())
}

/// Counts the branches of all keys together.
pub(crate) fn branch_count(keys: &[Vec<Key>]) -> Result<usize, Refusal> {
    let count = keys.iter().map(Vec::len).max().unwrap_or(1);
    if keys.iter().any(|key| key.len() != 1 && key.len() != count) {
        return Err(Refusal::Lengths);
    }
    if count > MAX_BRANCHES { Err(Refusal::Branches) } else { Ok(count) }
}

/// The keys of one branch.
pub(crate) fn alternative(keys: &[Vec<Key>], branch: usize) -> Vec<Key> {
    keys.iter().filter_map(|key| key.get(branch).or(key.first())).cloned().collect()
}

/// Checks the text between `[` and `]`.
pub(crate) fn check_origin(origin: &str) -> Result<(), Refusal> {
    let mut parts = origin.split('/');
    let fingerprint = parts.next().unwrap_or_default();
    let is_hex = fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fingerprint.len() != 8 || !is_hex || !parts.all(|step| read_step(step).is_ok()) {
        return Err(Refusal::Origin);
    }
    Ok(())
}

/// Reads hexadecimal digits.
fn read_single(text: &str, allowed: AllowedKeys) -> Result<PublicKey, Refusal> {
    if text.len() == 64 {
        let key = XOnlyPublicKey::from_str(text).map_err(|_| Refusal::Key)?;
        return match allowed {
            AllowedKeys::Taproot => Ok(PublicKey::new(secp256k1::PublicKey::from_x_only_public_key(key, Parity::Even))),
            _ => Err(Refusal::XOnly),
        };
    }
    let key = PublicKey::from_str(text).map_err(|_| Refusal::Key)?;
    if key.compressed || allowed == AllowedKeys::Legacy { Ok(key) } else { Err(Refusal::Uncompressed) }
}

fn read_extended(text: &str, network: NetworkKind) -> Result<Xpub, Refusal> {
    if OTHER_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return Err(Refusal::Prefix);
    }
    if text.len() > MAX_EXTENDED_CHARS {
        return Err(Refusal::Key);
    }
    let bytes = base58::decode_check(text).map_err(|_| Refusal::Key)?;
    let key = Xpub::decode(&bytes).map_err(|_| Refusal::Key)?;
    // BIP 32's test vectors forbid a parent or a child number at depth 0.
    let has_parent = key.parent_fingerprint != Fingerprint::default() || u32::from(key.child_number) != 0;
    if key.depth == 0 && has_parent {
        return Err(Refusal::Key);
    }
    if key.network == network { Ok(key) } else { Err(Refusal::Network) }
}

/// Reads the steps after a key: a path for each alternative.
fn read_path(text: Option<&str>) -> Result<Vec<Path>, Refusal> {
    let Some(text) = text else { return Ok(vec![Path::default()]) };
    let (text, has_wildcard) = match text.strip_suffix('*') {
        Some("") => return Ok(vec![Path { steps: Vec::new(), has_wildcard: true }]),
        Some(rest) if rest.ends_with('*') => return Err(Refusal::AfterWildcard),
        Some(rest) => (rest.strip_suffix('/').ok_or(Refusal::Step)?, true),
        None => (text, false),
    };
    let mut before: Vec<ChildNumber> = Vec::new();
    let mut alternatives: Option<(usize, Vec<ChildNumber>)> = None;
    let count = text.split('/').count();
    for (at, step) in text.split('/').enumerate() {
        if let Some(inner) = step.strip_prefix('<') {
            let inner = inner.strip_suffix('>').ok_or(Refusal::Alternatives)?;
            if inner.split(';').count() > MAX_BRANCHES {
                return Err(Refusal::Branches);
            }
            let mut values = Vec::new();
            for value in inner.split(';') {
                let value = read_step(value)
                    .map_err(|refusal| if value.is_empty() { Refusal::Alternatives } else { refusal })?;
                if values.contains(&value) {
                    return Err(Refusal::Alternatives);
                }
                values.push(value);
            }
            if values.len() < 2 || alternatives.is_some() {
                return Err(Refusal::Alternatives);
            }
            alternatives = Some((before.len(), values));
            before.push(ChildNumber::Normal { index: 0 });
        } else if step.starts_with('*') {
            let is_hardened = matches!(step, "*h" | "*'") && at + 1 == count && !has_wildcard;
            return Err(if is_hardened { Refusal::Hardened } else { Refusal::AfterWildcard });
        } else {
            before.push(read_step(step)?);
        }
    }
    let hardened = |step: &ChildNumber| step.is_hardened();
    if before.iter().any(hardened) || alternatives.iter().any(|(_, values)| values.iter().any(hardened)) {
        return Err(Refusal::Hardened);
    }
    let Some((at, values)) = alternatives else { return Ok(vec![Path { steps: before, has_wildcard }]) };
    let path = |value| {
        let mut steps = before.clone();
        if let Some(step) = steps.get_mut(at) {
            *step = value;
        }
        Path { steps, has_wildcard }
    };
    Ok(values.into_iter().map(path).collect())
}

/// Reads a step: digits, and `h` or `'` if it is hardened.
fn read_step(text: &str) -> Result<ChildNumber, Refusal> {
    let digits = text.strip_suffix(['h', '\'']).unwrap_or(text);
    let index = read_number(digits).filter(|index| *index < HARDENED).ok_or(Refusal::Step)?;
    Ok(if digits.len() < text.len() { ChildNumber::Hardened { index } } else { ChildNumber::Normal { index } })
}

/// Reads digits, and nothing else: no sign.
pub(crate) fn read_number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
