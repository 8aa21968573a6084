//! Transactions as clients send them: in hexadecimal, or as a PSBT.

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::{
    Transaction,
    consensus::encode::{self, serialize},
};
use cairn_keys::{MAX_PSBT_BYTES, PsbtState, read_psbt};

/// Larger ones do not fit into a block.
const MAX_BYTES: usize = 4_000_000;

/// First bytes of a PSBT (BIP 174): as base64 and as hexadecimal.
const BASE64: &str = "cHNidP";
const HEX: &str = "70736274ff";

/// A transaction as it was sent.
#[derive(Debug)]
pub(super) struct Submitted {
    pub(super) tx: Transaction,
    /// Its bytes with witness.
    pub(super) raw: Vec<u8>,
    /// The first input that is not signed, if the transaction came in a PSBT that is not complete.
    pub(super) unsigned: Option<usize>,
}

/// Parses a transaction and makes the checks that need no node.
pub(super) fn decode(text: &str) -> Result<Submitted, String> {
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    let submitted = if text.starts_with("psbt") {
        return Err("is a PSBT in its binary form: send it in base64 or hexadecimal".to_owned());
    } else if starts_with(text, BASE64) {
        let compact: String = text.split_ascii_whitespace().collect();
        of_psbt(&STANDARD.decode(compact).map_err(|_| "is a PSBT in damaged base64".to_owned())?)?
    } else if starts_with(text, HEX) {
        of_psbt(&digits(text, MAX_PSBT_BYTES)?)?
    } else {
        whole(digits(text, MAX_BYTES)?)?
    };
    let tx = &submitted.tx;
    if tx.input.is_empty() || tx.output.is_empty() {
        return Err("has no inputs or no outputs".to_owned());
    }
    if tx.is_coinbase() {
        return Err("is a coinbase, which is valid only in a block".to_owned());
    }
    Ok(submitted)
}

/// Why an incomplete PSBT is not sent.
pub(super) fn unsigned_reason(input: usize) -> String {
    format!(
        "is a PSBT that is not complete: input {input} lacks a signature, or data of the coin that it spends; let every \
         signer sign it first"
    )
}

fn digits(text: &str, most: usize) -> Result<Vec<u8>, String> {
    if text.len() > 2 * most {
        return Err(format!("is too large: it has {} digits; at most {} are read", text.len(), 2 * most));
    }
    hex::decode(text).map_err(|error| match error {
        hex::FromHexError::OddLength => "has an odd number of hexadecimal digits: a digit is missing".to_owned(),
        hex::FromHexError::InvalidHexCharacter { index, .. } => {
            format!("is not hexadecimal at character {index}, counted from 0")
        }
        hex::FromHexError::InvalidStringLength => "is not hexadecimal".to_owned(),
    })
}

fn whole(raw: Vec<u8>) -> Result<Submitted, String> {
    match encode::deserialize_partial::<Transaction>(&raw) {
        Ok((tx, length)) if length == raw.len() => Ok(Submitted { tx, raw, unsigned: None }),
        Ok((_, length)) => {
            let rest = raw.len() - length;
            Err(format!("has {rest} more bytes after the end of the transaction, which has {length}"))
        }
        Err(error) if is_cut(&error) => Err(format!("is cut: its {} bytes end before the transaction does", raw.len())),
        Err(_) => Err("is not a serialized transaction".to_owned()),
    }
}

fn of_psbt(bytes: &[u8]) -> Result<Submitted, String> {
    let (tx, unsigned) = match read_psbt(bytes).map_err(|flaw| flaw.to_string())? {
        PsbtState::Complete(tx) => (tx, None),
        PsbtState::Incomplete { tx, input } => (tx, Some(input)),
    };
    Ok(Submitted { raw: serialize(&tx), tx, unsigned })
}

fn starts_with(text: &str, head: &str) -> bool {
    text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
}

fn is_cut(error: &encode::Error) -> bool {
    use bitcoin::io::ErrorKind::UnexpectedEof;
    matches!(error, encode::Error::Io(error) if error.kind() == UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 input, 1 output, no witness.
    fn small() -> String {
        let input = format!("{}{}00ffffffff", "11".repeat(32), "00000000");
        format!("0200000001{input}01e80300000000000001516a000000")
    }

    #[test]
    fn whole_transactions_only() {
        let hex = small();
        let Submitted { tx, raw, unsigned } = decode(&hex.to_uppercase()).unwrap();
        assert_eq!((tx.input.len(), hex::encode(raw), unsigned), (1, hex.clone(), None));
        let cases = [
            (String::new(), "is empty"),
            ("zz".to_owned(), "is not hexadecimal at character 0"),
            (format!("{}é", &hex[..6]), "is not hexadecimal at character 6"),
            (format!("0x{hex}"), "is not hexadecimal at character 1"),
            (hex[1..].to_owned(), "has an odd number"),
            (format!("{hex}00"), "has 1 more bytes after the end of the transaction, which has "),
            (format!("{hex}{hex}"), "has 61 more bytes after the end of the transaction, which has 61"),
            (hex[..hex.len() - 2].to_owned(), "is cut: its 60 bytes end"),
            (hex[..8].to_owned(), "is cut: its 4 bytes end"),
            ("cHNidP8BAHUCAAAAASaBcTce3/KF6Tet7qSze3gADAVmy7OtZGQXE8pCFxv2".to_owned(), "is a damaged PSBT"),
            ("cHNidP8B!".to_owned(), "is a PSBT in damaged base64"),
            ("70736274FF0100".to_owned(), "is a damaged PSBT"),
            ("psbt\u{fffd}".to_owned(), "is a PSBT in its binary form"),
            // A count of inputs that no memory holds.
            ("02000000feffffff7f".to_owned(), "is cut"),
            // A flag of a witness that nobody knows.
            (format!("02000000000201{}", &hex[10..]), "is not a serialized transaction"),
            ("020000000001000000000000".to_owned(), "has no inputs or no outputs"),
            (hex.replacen("01e80300000000000001516a000000", "006a000000", 1), "has no inputs or no outputs"),
            (format!("0100000001{}ffffffff0100ffffffff0100000000000000000000000000", "00".repeat(32)), "is a coinbase"),
        ];
        for (text, why) in cases {
            let what = decode(&text).unwrap_err();
            assert!(what.starts_with(why), "{text}: {what}");
        }
    }

    #[test]
    fn what_fits_in_no_block_is_not_decoded() {
        assert!(decode(&"0".repeat(8_000_001)).unwrap_err().starts_with("is too large"));
        assert!(decode(&"0".repeat(8_000_000)).unwrap_err().starts_with("is not a serialized"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(70736274ff)?[0-9a-f]{0,200}") {
            let _ = decode(&text);
        }
    }
}
