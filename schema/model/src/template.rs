//! Templates of scriptPubKeys, as tables store them.

/// The template of a scriptPubKey: the types of Bitcoin Core's `Solver`, with P2PK split by the length of the key.
/// `OP_RETURN` outputs have none of their own, since they are never spent. Tables store its code in four bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum ScriptTemplate {
    /// None of the others.
    #[default]
    NonStandard,
    /// Pay to public key hash (P2PKH).
    PubKeyHash,
    /// Pay to script hash (P2SH).
    ScriptHash,
    /// Pay to witness public key hash (P2WPKH).
    WitnessV0KeyHash,
    /// Pay to witness script hash (P2WSH).
    WitnessV0ScriptHash,
    /// Pay to taproot (P2TR).
    WitnessV1Taproot,
    /// Pay to a public key (P2PK) of 33 bytes.
    CompressedPubKey,
    /// Pay to a public key (P2PK) of 65 bytes.
    UncompressedPubKey,
    /// Bare multisig.
    Multisig,
    /// Pay to anchor (P2A).
    Anchor,
    /// A witness program of a version or length that has no rules yet.
    WitnessUnknown,
}

/// Maximum number of keys of a bare multisig (consensus limit of `OP_CHECKMULTISIG`).
const MAX_MULTISIG_KEYS: u8 = 20;

impl ScriptTemplate {
    /// All templates, each at the index that is its code.
    pub const ALL: [ScriptTemplate; 11] = [
        ScriptTemplate::NonStandard,
        ScriptTemplate::PubKeyHash,
        ScriptTemplate::ScriptHash,
        ScriptTemplate::WitnessV0KeyHash,
        ScriptTemplate::WitnessV0ScriptHash,
        ScriptTemplate::WitnessV1Taproot,
        ScriptTemplate::CompressedPubKey,
        ScriptTemplate::UncompressedPubKey,
        ScriptTemplate::Multisig,
        ScriptTemplate::Anchor,
        ScriptTemplate::WitnessUnknown,
    ];

    /// Its code, below 16.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The template with a code; `None` for codes without one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether scripts of this template have an address.
    #[must_use]
    pub const fn has_address(self) -> bool {
        use ScriptTemplate::{CompressedPubKey, Multisig, NonStandard, UncompressedPubKey};
        !matches!(self, NonStandard | CompressedPubKey | UncompressedPubKey | Multisig)
    }

    /// The template of a scriptPubKey, by the rules of Bitcoin Core's `Solver`.
    #[must_use]
    pub fn of(script: &[u8]) -> Self {
        match script {
            [0x76, 0xa9, 0x14, .., 0x88, 0xac] if script.len() == 25 => ScriptTemplate::PubKeyHash,
            [0xa9, 0x14, .., 0x87] if script.len() == 23 => ScriptTemplate::ScriptHash,
            [0x00, 0x14, ..] if script.len() == 22 => ScriptTemplate::WitnessV0KeyHash,
            [0x00, 0x20, ..] if script.len() == 34 => ScriptTemplate::WitnessV0ScriptHash,
            [0x51, 0x20, ..] if script.len() == 34 => ScriptTemplate::WitnessV1Taproot,
            [0x51, 0x02, 0x4e, 0x73] => ScriptTemplate::Anchor,
            // BIP 141: a version and a push of 2 to 40 bytes. Version 0 has no other lengths.
            [0x51..=0x60, length @ 2..=40, program @ ..] if program.len() == usize::from(*length) => {
                ScriptTemplate::WitnessUnknown
            }
            _ => match pay_to_key(script) {
                Some(key) if key.len() == 33 => ScriptTemplate::CompressedPubKey,
                Some(_) => ScriptTemplate::UncompressedPubKey,
                None if is_multisig(script) => ScriptTemplate::Multisig,
                None => ScriptTemplate::NonStandard,
            },
        }
    }
}

/// The key of a P2PK script. Like Core, it checks length and first byte, not that the key is on the curve.
#[must_use]
pub fn pay_to_key(script: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = script.split_first()?;
    let (&last, key) = rest.split_last()?;
    (usize::from(length) == key.len() && last == 0xac && is_key(key)).then_some(key)
}

/// True if bytes look like a serialized public key by Core's rule: length and first byte.
#[must_use]
pub fn is_key(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(2 | 3) => bytes.len() == 33,
        Some(4 | 6 | 7) => bytes.len() == 65,
        _ => false,
    }
}

fn is_multisig(script: &[u8]) -> bool {
    let Some((0xae, body)) = script.split_last() else { return false };
    let Some((required, mut rest)) = key_count(body) else { return false };
    let mut keys = 0u8;
    while let Some((_, after)) = push(rest).filter(|(data, _)| is_key(data)) {
        let Some(more) = keys.checked_add(1) else { return false };
        (keys, rest) = (more, after);
    }
    // After the keys come their number and the OP_CHECKMULTISIG that was cut off, nothing else.
    key_count(rest).is_some_and(|(count, after)| count == keys && required <= count && after.is_empty())
}

/// A number of keys: OP_1 to OP_16, or a minimal push of 17 to 20; and the rest of the script.
fn key_count(script: &[u8]) -> Option<(u8, &[u8])> {
    match script {
        [op @ 0x51..=0x60, rest @ ..] => Some((op - 0x50, rest)),
        [1, n @ 17..=MAX_MULTISIG_KEYS, rest @ ..] => Some((*n, rest)),
        _ => None,
    }
}

/// The bytes that a script pushes first, and the rest of the script.
fn push(script: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match script {
        [n @ 1..=75, rest @ ..] => (usize::from(*n), rest),
        [76, n, rest @ ..] => (usize::from(*n), rest),
        [77, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [78, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_places_in_the_list_and_fit_four_bits() {
        for (at, template) in ScriptTemplate::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(template.code()), at);
            assert_eq!(ScriptTemplate::from_code(template.code()), Some(template));
        }
        assert!(ScriptTemplate::ALL.len() <= 16);
        assert_eq!(ScriptTemplate::from_code(ScriptTemplate::ALL.len() as u8), None);
    }

    #[test]
    fn keys_may_be_pushed_in_any_form() {
        let key = [&[2][..], &[7; 32]].concat();
        let with = |push: &[u8]| ScriptTemplate::of(&[&[0x51][..], push, &key, &[0x51, 0xae]].concat());
        for push in [&[33][..], &[76, 33], &[77, 33, 0], &[78, 33, 0, 0, 0]] {
            assert_eq!(with(push), ScriptTemplate::Multisig, "{push:?}");
        }
        for push in [&[34][..], &[76, 34], &[77, 33, 1], &[78, 255, 255, 255, 255], &[]] {
            assert_eq!(with(push), ScriptTemplate::NonStandard, "{push:?}");
        }
        let (long, hybrid) = ([&[65, 4][..], &[9; 64], &[0xac]].concat(), [&[65, 6][..], &[9; 64], &[0xac]].concat());
        assert_eq!(ScriptTemplate::of(&long), ScriptTemplate::UncompressedPubKey);
        assert_eq!(ScriptTemplate::of(&hybrid), ScriptTemplate::UncompressedPubKey);
        assert_eq!(ScriptTemplate::of(&[&[33][..], &key, &[0xac]].concat()), ScriptTemplate::CompressedPubKey);
    }
}
