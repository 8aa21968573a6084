//! The header of a block in its 80 bytes.

use super::detail::{Detail, version};

const BYTES: usize = 80;

/// Hexadecimal digits of a little-endian number.
fn little_endian(number: u32) -> String {
    format!("{:08x}", number.swap_bytes())
}

/// Hexadecimal text with its bytes in the reverse order; `None` if it is not hexadecimal.
fn reversed(text: &str) -> Option<String> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some(text.as_bytes().chunks(2).rev().flatten().copied().map(char::from).collect())
}

/// The header in hexadecimal; `None` if a field of the answer has another form than expected.
pub(super) fn hex(block: &Detail) -> Option<String> {
    let none = "0".repeat(64);
    let header = [
        little_endian(version(block.version)?),
        reversed(block.previous_hash.as_deref().unwrap_or(&none))?,
        reversed(&block.merkle_root)?,
        little_endian(u32::try_from(block.time_unix).ok()?),
        reversed(&block.bits)?,
        little_endian(u32::try_from(block.nonce).ok()?),
    ]
    .concat();
    (header.len() == BYTES * 2).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of the first block of the main network.
    const GENESIS: &str = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac7\
        2c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c";

    #[test]
    fn the_header_of_the_first_block() {
        let block = r#"{"height":0,"hash":"00","confirmations":1,"time":"2009-01-03T18:15:05Z","time_unix":1231006505,
            "previous_hash":null,"next_hash":null,"version":1,"bits":"1d00ffff","nonce":2083236893,"size":285,
            "merkle_root":"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b","weight":1140,
            "tx_count":1,"coinbase":{"txid":"00","script_hex":"","text":""},"totals":{"input_count":0,"output_count":0,
            "transferred_sats":0,"fees_sats":0,"subsidy_sats":0,"coinbase_sats":0,"unclaimed_sats":0}}"#;
        let block: Detail = serde_json::from_str(block).unwrap();
        assert_eq!(hex(&block).unwrap(), GENESIS);
        assert_eq!((version(-1), version(0x2000_0000), version(i64::MAX)), (Some(u32::MAX), Some(0x2000_0000), None));
        assert_eq!((reversed("0ab"), reversed("xy"), reversed("01ab").as_deref()), (None, None, Some("ab01")));
    }
}
