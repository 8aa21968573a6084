//! Proof of work of headers.

use bitcoin::Target;
use cairn_model::Network;

use crate::hash::{Hash32, sha256d};

/// Checks headers of one network.
pub(crate) struct PowCheck {
    limit: [u8; 32],
}

impl PowCheck {
    pub(crate) fn new(network: Network) -> Self {
        let limit = match network {
            Network::Main => Target::MAX_ATTAINABLE_MAINNET,
            Network::Testnet3 | Network::Testnet4 => Target::MAX_ATTAINABLE_TESTNET,
            Network::Signet => Target::MAX_ATTAINABLE_SIGNET,
            Network::Regtest => Target::MAX_ATTAINABLE_REGTEST,
        };
        PowCheck { limit: limit.to_be_bytes() }
    }

    /// Hash of the header; `None` if it misses the header's target, or if that target is easier than the network's
    /// easiest. So random bytes do not count as a header.
    pub(crate) fn check(&self, header: &[u8; 80]) -> Option<Hash32> {
        let target = expand(bits_of(header))?;
        if target > self.limit {
            return None;
        }
        let hash = sha256d(&[header]);
        let mut big_endian = hash;
        big_endian.reverse();
        (big_endian <= target).then_some(hash)
    }
}

pub(crate) fn bits_of(header: &[u8; 80]) -> u32 {
    u32::from_le_bytes([header[72], header[73], header[74], header[75]])
}

/// Target of the compact form, big-endian; `None` if it is zero, negative or does not fit.
fn expand(bits: u32) -> Option<[u8; 32]> {
    let exponent = (bits >> 24) as usize;
    let mantissa = (bits & 0x007f_ffff).to_be_bytes();
    if bits & 0x0080_0000 != 0 {
        return None;
    }
    let mut target = [0u8; 32];
    for (i, byte) in mantissa[1..].iter().enumerate() {
        // Byte i of the mantissa stands for 256^(exponent - 1 - i).
        match (exponent.checked_sub(1 + i), byte) {
            (Some(power), byte) if power < 32 => target[31 - power] = *byte,
            (Some(_), 0) | (None, _) => {}
            (Some(_), _) => return None,
        }
    }
    (target != [0; 32]).then_some(target)
}

/// Expected number of hashes for a block whose header states this compact target (`nBits`): 2^256 / (target + 1); 0 for
/// a target that no block can have. Sums over a chain stay far below 2^128.
pub fn work_of(bits: u32) -> u128 {
    let Some(target) = expand(bits) else { return 0 };
    let work = Target::from_be_bytes(target).to_work().to_be_bytes();
    let (high, low) = work.split_at(16);
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(low);
    if high.iter().any(|b| *b != 0) { u128::MAX } else { u128::from_be_bytes(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::{blockdata::constants::genesis_block, consensus::serialize};

    #[test]
    fn genesis_of_every_network_is_proven() {
        for network in Network::ALL {
            let genesis = genesis_block(network.to_bitcoin());
            let mut header = [0u8; 80];
            header.copy_from_slice(&serialize(&genesis.header));
            let check = PowCheck::new(network);
            assert!(check.check(&header).is_some(), "{network}");
            assert_eq!(expand(bits_of(&header)).unwrap(), check.limit, "{network}");
            header[76] ^= 1;
            header[36] ^= 1;
            if network != Network::Regtest {
                assert!(check.check(&header).is_none(), "{network}");
            }
        }
    }

    #[test]
    fn compact_targets() {
        assert_eq!(work_of(0x1d00_ffff), 0x1_0001_0001);
        assert_eq!(work_of(0x207f_ffff), 2);
        for bits in [0, 0x0100_0000, 0x1d80_ffff, 0x2200_ffff + 0x0100_0000, 0xff00_ffff] {
            assert_eq!(expand(bits), None, "{bits:#x}");
            assert_eq!(work_of(bits), 0);
        }
        assert_eq!(expand(0x0112_0000).unwrap()[31], 0x12);
        // Agrees with rust-bitcoin where both are defined.
        for bits in [0x1d00_ffff, 0x1b04_04cb, 0x1816_2043, 0x1702_8c61, 0x0300_1234] {
            let theirs = Target::from_compact(bitcoin::CompactTarget::from_consensus(bits));
            assert_eq!(expand(bits).unwrap(), theirs.to_be_bytes());
        }
    }
}
