//! Decodes OP_RETURN outputs. A protocol is named only if its own marker is unambiguous.

use crate::asm::{CutShort, ops};

/// One element that an OP_RETURN script pushes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Push {
    /// Bytes.
    Data(Vec<u8>),
    /// A small number (OP_1NEGATE, OP_1 to OP_16).
    Number(i8),
    /// The bytes of the last push, which is longer than the script.
    Cut(Vec<u8>),
}

/// A protocol that marks its outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Commitment to the witnesses of a block (BIP 141), in a coinbase.
    WitnessCommitment {
        /// The committed hash.
        hash: [u8; 32],
    },
    /// Omni Layer, class C.
    Omni {
        /// Version of the message.
        version: u16,
        /// Type of the message.
        kind: u16,
    },
    /// Runes: a runestone.
    Runestone,
    /// Counterparty, unscrambled with the first input's txid.
    Counterparty {
        /// The message behind the marker.
        message: Vec<u8>,
    },
}

impl Protocol {
    /// Its name in answers.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Protocol::WitnessCommitment { .. } => "witness_commitment",
            Protocol::Omni { .. } => "omni",
            Protocol::Runestone => "runestone",
            Protocol::Counterparty { .. } => "counterparty",
        }
    }
}

/// Pushes of a script that are kept. A script of 4 MB may have two million.
pub const MAX_PUSHES: usize = 256;

/// A decoded OP_RETURN script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpReturn {
    /// Its pushes, up to the first other opcode, at most [`MAX_PUSHES`]. The last one may be cut.
    pub pushes: Vec<Push>,
    /// How many there are.
    pub push_count: u32,
    /// True if only complete pushes follow the OP_RETURN.
    pub well_formed: bool,
    /// The bytes of all complete data pushes, concatenated.
    pub data: Vec<u8>,
    /// Protocols whose marker it has, except Counterparty, which needs the spent txid: see [`counterparty`].
    pub protocols: Vec<Protocol>,
}

/// A push that has not been copied.
enum Pushed<'s> {
    Data(&'s [u8]),
    Number(i8),
    Cut(&'s [u8]),
}

/// Decodes an OP_RETURN script; `None` for other scripts. `coinbase` is true for an output of a coinbase.
#[must_use]
pub fn decode_op_return(script: &[u8], coinbase: bool) -> Option<OpReturn> {
    let (0x6a, rest) = script.split_first()? else { return None };
    let mut found = OpReturn { well_formed: true, ..OpReturn::default() };
    for op in ops(rest) {
        let push = match op {
            Ok(op) => match (op.code, op.data) {
                (_, Some(data)) => Pushed::Data(data),
                (0x4f, None) => Pushed::Number(-1),
                (0x51..=0x60, None) => Pushed::Number((op.code - 0x50) as i8),
                _ => {
                    found.well_formed = false;
                    break;
                }
            },
            // Nothing follows it.
            Err(CutShort(data)) => {
                found.well_formed = false;
                Pushed::Cut(data)
            }
        };
        if let Pushed::Data(data) = push {
            found.data.extend_from_slice(data);
        }
        found.push_count += 1;
        if found.pushes.len() < MAX_PUSHES {
            found.pushes.push(match push {
                Pushed::Data(data) => Push::Data(data.to_vec()),
                Pushed::Number(n) => Push::Number(n),
                Pushed::Cut(data) => Push::Cut(data.to_vec()),
            });
        }
    }
    found.protocols = protocols(rest, &found.pushes, coinbase);
    Some(found)
}

fn protocols(after_return: &[u8], pushes: &[Push], coinbase: bool) -> Vec<Protocol> {
    let mut found = Vec::new();
    // BIP 141: at least 38 bytes, of which the first six are fixed.
    if coinbase
        && let Some(hash) = after_return.strip_prefix(&[0x24, 0xaa, 0x21, 0xa9, 0xed]).and_then(|r| r.first_chunk())
    {
        found.push(Protocol::WitnessCommitment { hash: *hash });
    }
    if let Some(Push::Data(data)) = pushes.first()
        && let Some(&[v1, v2, k1, k2]) = data.strip_prefix(b"omni").and_then(|r| r.first_chunk())
    {
        found.push(Protocol::Omni { version: u16::from_be_bytes([v1, v2]), kind: u16::from_be_bytes([k1, k2]) });
    }
    if pushes.first() == Some(&Push::Number(13)) {
        found.push(Protocol::Runestone);
    }
    found
}

/// The Counterparty message in the data of an OP_RETURN output, if it is one: scrambled by RC4 under the txid that the
/// transaction's first input spends (`txid_display`: in the order in which people read it), and marked `CNTRPRTY`.
#[must_use]
pub fn counterparty(data: &[u8], txid_display: &[u8; 32]) -> Option<Protocol> {
    const MARKER: &[u8] = b"CNTRPRTY";
    if data.len() < MARKER.len() {
        return None;
    }
    let clear = rc4(txid_display, data);
    clear.strip_prefix(MARKER).map(|message| Protocol::Counterparty { message: message.to_vec() })
}

fn rc4(key: &[u8; 32], data: &[u8]) -> Vec<u8> {
    let mut state: [u8; 256] = std::array::from_fn(|i| i as u8);
    let mut j = 0u8;
    for i in 0..=255u8 {
        j = j.wrapping_add(state[usize::from(i)]).wrapping_add(key[usize::from(i) % key.len()]);
        state.swap(usize::from(i), usize::from(j));
    }
    let (mut i, mut j) = (0u8, 0u8);
    let stream = data.iter().map(|byte| {
        i = i.wrapping_add(1);
        j = j.wrapping_add(state[usize::from(i)]);
        state.swap(usize::from(i), usize::from(j));
        byte ^ state[usize::from(state[usize::from(i)].wrapping_add(state[usize::from(j)]))]
    });
    stream.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hex_text: &str) -> OpReturn {
        decode_op_return(&hex::decode(hex_text).unwrap(), true).unwrap()
    }

    #[test]
    fn pushes_come_apart() {
        let found = of("6a0568656c6c6f4f5d4c0121");
        assert_eq!(found.pushes[0], Push::Data(b"hello".to_vec()));
        assert_eq!(found.pushes[1..3], [Push::Number(-1), Push::Number(13)]);
        assert_eq!(found.data, b"hello!");
        assert!(found.well_formed && found.protocols.is_empty());
        assert!(of("6a").well_formed);
        assert!(!of("6aac").well_formed);
        assert!(!of("6a0568").well_formed);
        assert_eq!(decode_op_return(&[0x51], false), None);
        assert_eq!(decode_op_return(&[], false), None);
    }

    #[test]
    fn a_push_that_the_script_cuts_is_kept_as_cut() {
        let cut = |bytes: &[u8]| Push::Cut(bytes.to_vec());
        for (script, pushes, data) in [
            ("6a05aabb", vec![cut(&[0xaa, 0xbb])], ""),
            ("6a01ff05aabb", vec![Push::Data(vec![0xff]), cut(&[0xaa, 0xbb])], "ff"),
            ("6a05", vec![cut(&[])], ""),
            ("6a4c", vec![cut(&[])], ""),
            ("6a4c05aa", vec![cut(&[0xaa])], ""),
            ("6a4d01", vec![cut(&[])], ""),
            ("6a4effffffffaabbcc", vec![cut(&[0xaa, 0xbb, 0xcc])], ""),
        ] {
            let found = of(script);
            assert_eq!((found.push_count as usize, &found.pushes), (pushes.len(), &pushes), "{script}");
            assert_eq!((hex::encode(&found.data), found.well_formed), (data.to_owned(), false), "{script}");
        }
        // No marker of a protocol is read from it.
        assert!(of("6a146f6d6e69000000000000001f").protocols.is_empty());
    }

    #[test]
    fn markers_name_protocols() {
        let commitment = format!("6a24aa21a9ed{}", "ab".repeat(32));
        assert_eq!(of(&commitment).protocols, [Protocol::WitnessCommitment { hash: [0xab; 32] }]);
        let elsewhere = decode_op_return(&hex::decode(&commitment).unwrap(), false).unwrap();
        assert!(elsewhere.protocols.is_empty());
        let omni = of("6a146f6d6e69000000000000001f000000012a05f200");
        assert_eq!(omni.protocols, [Protocol::Omni { version: 0, kind: 0 }]);
        assert_eq!(of("6a5d0714c0a233").protocols.len(), 1);
        assert_eq!(of("6a5d").protocols, [Protocol::Runestone]);
        assert!(of("6a016f").protocols.is_empty());
    }

    #[test]
    fn rc4_is_the_known_stream_and_unscrambles_itself() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8 + 1);
        // RFC 6229, 256-bit key 0x0102…20, offset 0.
        let stream = rc4(&key, &[0; 16]);
        assert_eq!(hex::encode(stream), "eaa6bd25880bf93d3f5d1e4ca2611d91");
        let scrambled = rc4(&key, b"CNTRPRTYmessage");
        assert_eq!(counterparty(&scrambled, &key), Some(Protocol::Counterparty { message: b"message".to_vec() }));
        assert_eq!(counterparty(b"CNTRPRTYmessage", &key), None);
        assert_eq!(counterparty(b"short", &key), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let script = [&[0x6a][..], &bytes].concat();
            let found = decode_op_return(&script, true).unwrap();
            proptest::prop_assert!(found.data.len() <= bytes.len());
        }
    }
}
