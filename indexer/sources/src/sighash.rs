//! Detects inputs with a SIGHASH_ANYONECANPAY signature, from the spending side only.

use crate::bytes::{Cursor, ReadError};

const ANYONE_CAN_PAY: u8 = 0x80;
const ANNEX_TAG: u8 = 0x50;

/// True if `item` has the form of a DER signature followed by a sighash byte with the ANYONECANPAY bit.
#[inline]
pub(crate) fn der_signature_anyone_can_pay(item: &[u8]) -> bool {
    let n = item.len();
    if !(9..=73).contains(&n) || item[0] != 0x30 || item[n - 1] & ANYONE_CAN_PAY == 0 {
        return false;
    }
    let r_len = usize::from(item[3]);
    // 0x30, length, 0x02, length of r, r, 0x02, length of s, s, sighash
    if usize::from(item[1]) != n - 3 || item[2] != 0x02 || r_len + 7 > n || item[4 + r_len] != 0x02 {
        return false;
    }
    usize::from(item[5 + r_len]) + r_len + 7 == n
}

/// True if a push of a scriptSig is such a signature.
#[inline]
pub(crate) fn script_sig_anyone_can_pay(script_sig: &[u8]) -> bool {
    pushes(script_sig).any(der_signature_anyone_can_pay)
}

/// The data pushes of a script, up to its end or to a truncated push.
pub(crate) fn pushes(script: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Cursor::new(script);
    std::iter::from_fn(move || {
        loop {
            let opcode = rest.u8().ok()?;
            let len = match opcode {
                0x00..=0x4b => usize::from(opcode),
                0x4c => usize::from(rest.u8().ok()?),
                0x4d => usize::from(u16::from_le_bytes(rest.array().ok()?)),
                0x4e => rest.u32().ok()? as usize,
                _ => continue,
            };
            return rest.take(len).ok();
        }
    })
}

/// A 65-byte Schnorr signature whose sighash byte is one of the three with ANYONECANPAY. An uncompressed public key has
/// the same length, so a point on the curve does not count as one.
fn schnorr_signature_anyone_can_pay(item: &[u8]) -> bool {
    item.len() == 65
        && matches!(item[64], 0x81..=0x83)
        && (item[0] != 0x04 || bitcoin::secp256k1::PublicKey::from_slice(item).is_err())
}

/// Reads the witness of one input. Returns how many items it has, and whether one of them is a signature with
/// ANYONECANPAY.
///
/// Schnorr signatures are expected at their taproot positions: alone (key path) or before the last two items, script
/// and control block (script path); an annex is not counted.
#[inline]
pub(crate) fn read_witness(r: &mut Cursor<'_>) -> Result<(usize, bool), ReadError> {
    let n = r.count(1)?;
    let mut der = false;
    let mut first_schnorr = usize::MAX;
    let mut last: &[u8] = &[];
    for i in 0..n {
        let len = r.compact_size()?;
        last = r.take(len)?;
        if (9..=73).contains(&len) {
            der |= der_signature_anyone_can_pay(last);
            if len == 65 && first_schnorr == usize::MAX && schnorr_signature_anyone_can_pay(last) {
                first_schnorr = i;
            }
        }
    }
    let annex = n >= 2 && last.first() == Some(&ANNEX_TAG);
    let items = n - usize::from(annex);
    let end = if items == 1 { 1 } else { items.saturating_sub(2) };
    Ok((n, der || first_schnorr < end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(sighash: u8) -> Vec<u8> {
        let mut sig = vec![0x30, 68, 0x02, 32];
        sig.extend([0x11; 32]);
        sig.extend([0x02, 32]);
        sig.extend([0x22; 32]);
        sig.push(sighash);
        sig
    }

    fn witness(items: &[&[u8]]) -> bool {
        let mut bytes = vec![items.len() as u8];
        for item in items {
            bytes.push(item.len() as u8);
            bytes.extend(*item);
        }
        let mut r = Cursor::new(&bytes);
        let (n, found) = read_witness(&mut r).unwrap();
        assert_eq!((n, r.remaining()), (items.len(), 0));
        found
    }

    #[test]
    fn der_in_script_sig_and_witness() {
        for (sighash, expected) in [(0x01, false), (0x03, false), (0x81, true), (0x83, true)] {
            let sig = der(sighash);
            assert_eq!(der_signature_anyone_can_pay(&sig), expected);
            let mut script_sig = vec![0x00, sig.len() as u8];
            script_sig.extend(&sig);
            script_sig.extend([33; 34]);
            assert_eq!(script_sig_anyone_can_pay(&script_sig), expected);
            assert_eq!(witness(&[&sig, &[2; 33]]), expected);
        }
        let mut wrong = der(0x81);
        wrong[1] += 1;
        assert!(!der_signature_anyone_can_pay(&wrong));
        let mut wrong = der(0x81);
        wrong[3] = 0xff;
        assert!(!der_signature_anyone_can_pay(&wrong));
        // A push that runs over the end hides nothing and breaks nothing.
        assert!(!script_sig_anyone_can_pay(&[0x4e, 0xff, 0xff, 0xff, 0xff, 1]));
    }

    #[test]
    fn schnorr_where_taproot_has_signatures() {
        let mut sig = [7u8; 65];
        sig[64] = 0x83;
        let plain = [7u8; 64];
        assert!(witness(&[&sig]));
        assert!(witness(&[&sig, &[ANNEX_TAG, 1]]));
        assert!(!witness(&[&plain]));
        assert!(witness(&[&sig, &[0x51], &[0xc0; 33]]));
        // 65 bytes in the place of the control block, or of a key.
        assert!(!witness(&[&[0x51], &sig]));
        assert!(!witness(&[&plain, &[0x51], &sig]));
        sig[64] = 0x03;
        assert!(!witness(&[&sig]));
    }
}
