//! PSBTs of version 2 (BIP 370), as PSBTs of version 0: the transaction is put together from the fields that version 2
//! has in its place. All other fields stay as they are.

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, VarInt, Witness,
    absolute::LockTime,
    consensus::{Decodable, deserialize, serialize},
    hashes::Hash,
    transaction::Version,
};

/// Types of the fields of version 2, by the map that they are in. A value is in little-endian order.
mod field {
    pub(super) const UNSIGNED_TX: u8 = 0x00;
    pub(super) const TX_VERSION: u8 = 0x02;
    pub(super) const FALLBACK_LOCKTIME: u8 = 0x03;
    pub(super) const INPUT_COUNT: u8 = 0x04;
    pub(super) const OUTPUT_COUNT: u8 = 0x05;
    pub(super) const TX_MODIFIABLE: u8 = 0x06;
    pub(super) const VERSION: u8 = 0xfb;
    pub(super) const PREVIOUS_TXID: u8 = 0x0e;
    pub(super) const OUTPUT_INDEX: u8 = 0x0f;
    pub(super) const SEQUENCE: u8 = 0x10;
    pub(super) const TIME_LOCKTIME: u8 = 0x11;
    pub(super) const HEIGHT_LOCKTIME: u8 = 0x12;
    pub(super) const AMOUNT: u8 = 0x03;
    pub(super) const SCRIPT: u8 = 0x04;
}

/// Smallest input or output: a map without a field.
const LEAST: usize = 1;

/// The maps of the same PSBT in version 0, from those of version 2; `None` if they are of another version, or damaged.
pub(crate) fn to_version_0(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes;
    let mut global = Map::read(&mut rest)?;
    if global.take_u32(field::VERSION)? != 2 || global.take(field::UNSIGNED_TX).is_some() {
        return None;
    }
    let version = global.take_u32(field::TX_VERSION)?.cast_signed();
    let fallback = global.maybe_u32(field::FALLBACK_LOCKTIME)?;
    let [inputs, outputs] = [global.take_count(field::INPUT_COUNT)?, global.take_count(field::OUTPUT_COUNT)?];
    global.take(field::TX_MODIFIABLE);
    if inputs.checked_add(outputs)?.checked_mul(LEAST)? > rest.len() {
        return None;
    }
    let mut maps = Vec::with_capacity(inputs + outputs);
    for _ in 0..inputs + outputs {
        maps.push(Map::read(&mut rest)?);
    }
    if !rest.is_empty() {
        return None;
    }
    let (of_inputs, of_outputs) = maps.split_at_mut(inputs);
    let mut locktimes = Vec::with_capacity(inputs);
    let mut tx = Transaction {
        version: Version(version),
        lock_time: LockTime::ZERO,
        input: Vec::with_capacity(inputs),
        output: Vec::with_capacity(outputs),
    };
    for map in of_inputs {
        let txid = Txid::from_byte_array(map.take(field::PREVIOUS_TXID)?.try_into().ok()?);
        let previous_output = OutPoint { txid, vout: map.take_u32(field::OUTPUT_INDEX)? };
        let sequence = map.maybe_u32(field::SEQUENCE)?.map_or(Sequence::MAX, Sequence);
        tx.input.push(TxIn { previous_output, script_sig: ScriptBuf::new(), sequence, witness: Witness::new() });
        locktimes.push([map.maybe_u32(field::HEIGHT_LOCKTIME)?, map.maybe_u32(field::TIME_LOCKTIME)?]);
    }
    for map in of_outputs {
        let value = Amount::from_sat(u64::from_le_bytes(map.take(field::AMOUNT)?.try_into().ok()?));
        tx.output.push(TxOut { value, script_pubkey: map.take(field::SCRIPT)?.into() });
    }
    tx.lock_time = LockTime::from_consensus(locktime(&locktimes, fallback)?);
    // An unsigned transaction has no witnesses, so that no input would be mistaken for the mark of them: an empty list
    // of inputs would be.
    if tx.input.is_empty() {
        return None;
    }
    global.0.insert(0, (vec![field::UNSIGNED_TX], serialize(&tx)));
    let mut written = Vec::with_capacity(bytes.len());
    global.write(&mut written);
    maps.iter().for_each(|map| map.write(&mut written));
    Some(written)
}

/// The lock time that all inputs allow: the largest of the heights if all inputs that want one accept heights,
/// otherwise the largest of the times. `None` if the inputs contradict each other.
fn locktime(wanted: &[[Option<u32>; 2]], fallback: Option<u32>) -> Option<u32> {
    let wanting: Vec<_> = wanted.iter().filter(|kinds| kinds.iter().any(Option::is_some)).collect();
    if wanting.is_empty() {
        return Some(fallback.unwrap_or(0));
    }
    let largest =
        |kind: usize| wanting.iter().map(|kinds| kinds[kind]).collect::<Option<Vec<u32>>>()?.into_iter().max();
    largest(0).or_else(|| largest(1))
}

/// A map of a PSBT: keys with their type, and values, in their order.
struct Map(Vec<(Vec<u8>, Vec<u8>)>);

impl Map {
    /// Reads a map up to its end.
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut fields = Vec::new();
        loop {
            let key = take_bytes(rest)?;
            if key.is_empty() {
                return Some(Map(fields));
            }
            fields.push((key, take_bytes(rest)?));
        }
    }

    /// Takes the field of this type out, which has no further key. Of two, the second stays, as an unknown field.
    fn take(&mut self, kind: u8) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|(key, _)| *key == [kind])?;
        Some(self.0.remove(at).1)
    }

    fn take_u32(&mut self, kind: u8) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(kind)?.try_into().ok()?))
    }

    /// A number that may be missing; `None` if it is damaged.
    fn maybe_u32(&mut self, kind: u8) -> Option<Option<u32>> {
        match self.take(kind) {
            None => Some(None),
            Some(value) => Some(Some(u32::from_le_bytes(value.try_into().ok()?))),
        }
    }

    fn take_count(&mut self, kind: u8) -> Option<usize> {
        let VarInt(count) = deserialize(&self.take(kind)?).ok()?;
        usize::try_from(count).ok()
    }

    fn write(&self, to: &mut Vec<u8>) {
        for part in self.0.iter().flat_map(|(key, value)| [key, value]) {
            to.extend(serialize(&VarInt::from(part.len())));
            to.extend_from_slice(part);
        }
        to.push(0);
    }
}

/// Bytes after their length.
fn take_bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let VarInt(length) = VarInt::consensus_decode(rest).ok()?;
    let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use bitcoin::Psbt;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heights_come_before_times() {
        let (height, time, both) = ([Some(10), None], [None, Some(1_600_000_000)], [Some(20), Some(1_700_000_000)]);
        assert_eq!(locktime(&[[None, None]], None), Some(0));
        assert_eq!(locktime(&[[None, None]], Some(7)), Some(7));
        assert_eq!(locktime(&[height, [None, None], both], Some(7)), Some(20));
        assert_eq!(locktime(&[time, both], Some(7)), Some(1_700_000_000));
        assert_eq!(locktime(&[both], None), Some(20));
        assert_eq!(locktime(&[height, time], None), None, "no lock time is both");
    }

    /// Reads maps of version 0.
    fn read(maps: &[u8]) -> Option<Psbt> {
        Psbt::deserialize(&[b"psbt\xff", maps].concat()).ok()
    }

    /// A map with these fields.
    fn map(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Map(fields.iter().map(|(kind, value)| (vec![*kind], value.clone())).collect()).write(&mut bytes);
        bytes
    }

    fn example(extra: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let global = [(0x02, vec![2, 0, 0, 0]), (0x04, vec![1]), (0x05, vec![1]), (0xfb, vec![2, 0, 0, 0])];
        let input = [&[(0x0e, vec![9; 32]), (0x0f, vec![3, 0, 0, 0])], extra].concat();
        let output = [(0x03, 5_000u64.to_le_bytes().to_vec()), (0x04, vec![0x51])];
        [map(&global), map(&input), map(&output)].concat()
    }

    #[test]
    fn the_transaction_is_put_together() {
        let known = (0x01, serialize(&TxOut { value: Amount::from_sat(6_000), script_pubkey: ScriptBuf::new() }));
        let bytes = example(&[(0x10, vec![1, 0, 0, 0]), (0x12, vec![99, 0, 0, 0]), known]);
        let psbt = read(&to_version_0(&bytes).unwrap()).unwrap();
        let tx = &psbt.unsigned_tx;
        assert_eq!((tx.version, tx.lock_time.to_consensus_u32()), (Version::TWO, 99));
        assert_eq!(tx.input[0].previous_output, OutPoint { txid: Txid::from_byte_array([9; 32]), vout: 3 });
        assert_eq!((tx.input[0].sequence, tx.output[0].value.to_sat()), (Sequence(1), 5_000));
        assert_eq!(psbt.inputs[0].witness_utxo.as_ref().map(|coin| coin.value.to_sat()), Some(6_000));
        assert!(psbt.unknown.is_empty() && psbt.inputs[0].unknown.is_empty() && psbt.outputs[0].unknown.is_empty());
    }

    #[test]
    fn what_is_not_whole_is_not_read() {
        let whole = example(&[]);
        assert!(to_version_0(&whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(to_version_0(&whole[..end]), None, "{end}");
        }
        assert_eq!(to_version_0(&[&whole[..], &[0]].concat()), None);
        assert_eq!(to_version_0(&example(&[(0x12, vec![1; 4]), (0x10, vec![1; 3])])), None);
        // A field that is there twice stays, and is refused by whoever reads version 0.
        let twice = to_version_0(&example(&[(0x0f, vec![4, 0, 0, 0])])).unwrap();
        assert!(read(&twice).is_some_and(|psbt| psbt.inputs[0].unknown.len() == 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), byte: u8) {
            to_version_0(&bytes);
            let mut changed = example(&[(0x10, vec![1, 0, 0, 0])]);
            let at = at.index(changed.len());
            changed[at] = byte;
            if let Some(written) = to_version_0(&changed) {
                read(&written);
            }
        }
    }
}
