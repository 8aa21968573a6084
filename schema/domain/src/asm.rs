//! Parses scripts, and writes them in Bitcoin Core's notation.

use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Op<'a> {
    pub(crate) code: u8,
    /// The pushed data, for opcodes 0 to OP_PUSHDATA4.
    pub(crate) data: Option<&'a [u8]>,
}

/// A push that is longer than the rest of the script, with the bytes that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CutShort<'a>(pub(crate) &'a [u8]);

/// The operations of a script, up to the first truncated one.
pub(crate) fn ops(script: &[u8]) -> impl Iterator<Item = Result<Op<'_>, CutShort<'_>>> {
    let mut left = script;
    std::iter::from_fn(move || {
        let (&code, rest) = left.split_first()?;
        let prefix = match code {
            0x4c => 1,
            0x4d => 2,
            0x4e => 4,
            _ => 0,
        };
        let Some((length, rest)) = rest.split_at_checked(prefix) else {
            left = &[];
            return Some(Err(CutShort(&[])));
        };
        let length = match code {
            0..=0x4b => usize::from(code),
            _ => length.iter().rev().fold(0usize, |n, &byte| n << 8 | usize::from(byte)),
        };
        let Some((data, rest)) = rest.split_at_checked(length) else {
            left = &[];
            return Some(Err(CutShort(rest)));
        };
        left = rest;
        Some(Ok(Op { code, data: (code <= 0x4e).then_some(data) }))
    })
}

/// A script in Bitcoin Core's notation: short pushes as decimal numbers, longer ones in hexadecimal, opcodes by name,
/// and `[error]` for a truncated push.
#[must_use]
pub fn asm(script: &[u8]) -> String {
    let mut text = String::with_capacity(script.len() * 2);
    for op in ops(script) {
        if !text.is_empty() {
            text.push(' ');
        }
        match op {
            Err(CutShort(_)) => text.push_str("[error]"),
            Ok(Op { data: Some(data), .. }) => push(&mut text, data),
            Ok(Op { code, .. }) => text.push_str(name(code)),
        }
    }
    text
}

fn push(text: &mut String, data: &[u8]) {
    // Writing to a String cannot fail.
    let _ = match data.len() {
        0..=4 => write!(text, "{}", number(data)),
        _ => data.iter().try_for_each(|byte| write!(text, "{byte:02x}")),
    };
}

/// A script number: little-endian, sign in the highest bit of the last byte.
fn number(data: &[u8]) -> i64 {
    let magnitude = data.iter().rev().fold(0i64, |n, &byte| n << 8 | i64::from(byte));
    match data.last() {
        Some(last) if last & 0x80 != 0 => -(magnitude & !(0x80 << (8 * (data.len() - 1)))),
        _ => magnitude,
    }
}

/// Bitcoin Core's names of the opcodes from OP_NOP (0x61) on.
const NAMES: [&str; 0x5a] = [
    "OP_NOP",
    "OP_VER",
    "OP_IF",
    "OP_NOTIF",
    "OP_VERIF",
    "OP_VERNOTIF",
    "OP_ELSE",
    "OP_ENDIF",
    "OP_VERIFY",
    "OP_RETURN",
    "OP_TOALTSTACK",
    "OP_FROMALTSTACK",
    "OP_2DROP",
    "OP_2DUP",
    "OP_3DUP",
    "OP_2OVER",
    "OP_2ROT",
    "OP_2SWAP",
    "OP_IFDUP",
    "OP_DEPTH",
    "OP_DROP",
    "OP_DUP",
    "OP_NIP",
    "OP_OVER",
    "OP_PICK",
    "OP_ROLL",
    "OP_ROT",
    "OP_SWAP",
    "OP_TUCK",
    "OP_CAT",
    "OP_SUBSTR",
    "OP_LEFT",
    "OP_RIGHT",
    "OP_SIZE",
    "OP_INVERT",
    "OP_AND",
    "OP_OR",
    "OP_XOR",
    "OP_EQUAL",
    "OP_EQUALVERIFY",
    "OP_RESERVED1",
    "OP_RESERVED2",
    "OP_1ADD",
    "OP_1SUB",
    "OP_2MUL",
    "OP_2DIV",
    "OP_NEGATE",
    "OP_ABS",
    "OP_NOT",
    "OP_0NOTEQUAL",
    "OP_ADD",
    "OP_SUB",
    "OP_MUL",
    "OP_DIV",
    "OP_MOD",
    "OP_LSHIFT",
    "OP_RSHIFT",
    "OP_BOOLAND",
    "OP_BOOLOR",
    "OP_NUMEQUAL",
    "OP_NUMEQUALVERIFY",
    "OP_NUMNOTEQUAL",
    "OP_LESSTHAN",
    "OP_GREATERTHAN",
    "OP_LESSTHANOREQUAL",
    "OP_GREATERTHANOREQUAL",
    "OP_MIN",
    "OP_MAX",
    "OP_WITHIN",
    "OP_RIPEMD160",
    "OP_SHA1",
    "OP_SHA256",
    "OP_HASH160",
    "OP_HASH256",
    "OP_CODESEPARATOR",
    "OP_CHECKSIG",
    "OP_CHECKSIGVERIFY",
    "OP_CHECKMULTISIG",
    "OP_CHECKMULTISIGVERIFY",
    "OP_NOP1",
    "OP_CHECKLOCKTIMEVERIFY",
    "OP_CHECKSEQUENCEVERIFY",
    "OP_NOP4",
    "OP_NOP5",
    "OP_NOP6",
    "OP_NOP7",
    "OP_NOP8",
    "OP_NOP9",
    "OP_NOP10",
    "OP_CHECKSIGADD",
];

const SMALL: [&str; 18] =
    ["-1", "OP_RESERVED", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];

/// Name of an opcode that pushes no data of its own.
fn name(code: u8) -> &'static str {
    let named = match code {
        0x4f..=0x60 => SMALL.get(usize::from(code - 0x4f)),
        0x61.. => NAMES.get(usize::from(code - 0x61)),
        _ => None,
    };
    match (code, named) {
        (_, Some(name)) => name,
        (0xff, None) => "OP_INVALIDOPCODE",
        _ => "OP_UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hex_text: &str) -> String {
        asm(&hex::decode(hex_text).unwrap())
    }

    #[test]
    fn writes_as_core_does() {
        let hash = "62e907b15cbf27d5425399ebf6f0fb50ebb88f18";
        assert_eq!(of(&format!("76a914{hash}88ac")), format!("OP_DUP OP_HASH160 {hash} OP_EQUALVERIFY OP_CHECKSIG"));
        assert_eq!(of(&format!("0014{hash}")), format!("0 {hash}"));
        assert_eq!(of("51024e73"), "1 29518");
        assert_eq!(of("4f50006061"), "-1 OP_RESERVED 0 16 OP_NOP");
        assert_eq!(of("0400000080"), "0");
        assert_eq!(of("04ffffffff"), "-2147483647");
        assert_eq!(of("018101820105"), "-1 -2 5");
        assert_eq!(
            of("b1b2baffbb"),
            "OP_CHECKLOCKTIMEVERIFY OP_CHECKSEQUENCEVERIFY OP_CHECKSIGADD OP_INVALIDOPCODE OP_UNKNOWN"
        );
        assert_eq!(of("7605aa"), "OP_DUP [error]");
        assert_eq!(of("4c"), "[error]");
        assert_eq!(of("4d0500aabbccddee"), "aabbccddee");
        assert_eq!(of("4effffffff00"), "[error]");
        assert_eq!(of(""), "");
    }

    #[test]
    fn every_opcode_stands_at_its_place() {
        assert_eq!(name(0x6a), "OP_RETURN");
        assert_eq!(name(0x87), "OP_EQUAL");
        assert_eq!(name(0xac), "OP_CHECKSIG");
        assert_eq!(name(0xae), "OP_CHECKMULTISIG");
        assert_eq!(name(0xb9), "OP_NOP10");
        assert_eq!(name(0xa5), "OP_WITHIN");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_written(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let text = asm(&bytes);
            proptest::prop_assert_eq!(text.is_empty(), bytes.is_empty());
        }
    }
}
