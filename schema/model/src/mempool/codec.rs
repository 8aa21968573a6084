//! The binary form of deltas, transactions and samples: a version, then fields; numbers as LEB128. Decoding never
//! panics, and never allocates more than a small multiple of the input.

use std::sync::Arc;

use super::{MempoolDelta, MempoolInput, MempoolOutput, MempoolSample, MempoolTx, NodeFloor, RemoveReason};
use crate::{
    BlockHash, Txid,
    leb128::{self, put_u64 as put},
};

/// No delta is longer. A standard transaction, with its raw bytes and the scripts that it spends, is far below.
pub const MAX_DELTA_BYTES: usize = 64 << 20;

/// First byte of everything here.
const VERSION: u8 = 1;
/// Smallest input: txid, vout, sequence, value, birth and length of the script.
const MIN_INPUT: usize = 37;
/// Smallest output: value and length of the script.
const MIN_OUTPUT: usize = 2;

const HAS_WTXID: u8 = 1;
const HAS_RAW: u8 = 2;

/// Bytes that are not a delta, transaction or sample of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot decode mempool data: {0}")]
pub struct BadMempoolBytes(pub &'static str);

type Read<T> = Result<T, BadMempoolBytes>;

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(BadMempoolBytes("too short"))?;
        self.0 = tail;
        Ok(head)
    }

    fn byte(&mut self) -> Read<u8> {
        let (head, tail) = self.0.split_first().ok_or(BadMempoolBytes("too short"))?;
        self.0 = tail;
        Ok(*head)
    }

    fn hash(&mut self) -> Read<[u8; 32]> {
        let (head, tail) = self.0.split_first_chunk::<32>().ok_or(BadMempoolBytes("too short"))?;
        self.0 = tail;
        Ok(*head)
    }

    /// LEB128 in its shortest form, so that equal values have equal bytes.
    fn u64(&mut self) -> Read<u64> {
        leb128::take_u64(&mut self.0).map_err(|error| BadMempoolBytes(error.0))
    }

    fn u32(&mut self) -> Read<u32> {
        u32::try_from(self.u64()?).map_err(|_| BadMempoolBytes("a number above 32 bits"))
    }

    /// A number, or nothing.
    fn maybe(&mut self) -> Read<Option<u64>> {
        Ok(match self.byte()? {
            0 => None,
            1 => Some(self.u64()?),
            _ => return Err(BadMempoolBytes("neither present nor absent")),
        })
    }

    fn maybe_u32(&mut self) -> Read<Option<u32>> {
        let value = self.maybe()?.map(u32::try_from).transpose();
        value.map_err(|_| BadMempoolBytes("a number above 32 bits"))
    }

    fn bytes(&mut self) -> Read<Box<[u8]>> {
        let n = usize::try_from(self.u64()?).map_err(|_| BadMempoolBytes("too short"))?;
        Ok(self.take(n)?.into())
    }

    /// How many items of at least `min` bytes follow.
    fn count(&mut self, min: usize) -> Read<usize> {
        let n = usize::try_from(self.u64()?).map_err(|_| BadMempoolBytes("too short"))?;
        if n > self.0.len() / min { Err(BadMempoolBytes("too short")) } else { Ok(n) }
    }

    fn end<T>(&self, value: T) -> Read<T> {
        if self.0.is_empty() { Ok(value) } else { Err(BadMempoolBytes("bytes left over")) }
    }
}

fn put_maybe(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        None => out.push(0),
        Some(value) => {
            out.push(1);
            put(out, value);
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Starts to read: everything begins with its version.
fn open(bytes: &[u8]) -> Read<Input<'_>> {
    if bytes.len() > MAX_DELTA_BYTES {
        return Err(BadMempoolBytes("too long"));
    }
    let mut input = Input(bytes);
    if input.byte()? == VERSION { Ok(input) } else { Err(BadMempoolBytes("another version")) }
}

fn put_tx(tx: &MempoolTx, out: &mut Vec<u8>) {
    out.extend_from_slice(&tx.txid.0);
    let mut flags = 0;
    if tx.wtxid != tx.txid {
        flags |= HAS_WTXID;
    }
    if tx.raw.is_some() {
        flags |= HAS_RAW;
    }
    out.push(flags);
    if tx.wtxid != tx.txid {
        out.extend_from_slice(&tx.wtxid.0);
    }
    for number in [tx.size, tx.base_size, tx.sigop_cost, tx.version.cast_unsigned(), tx.lock_time] {
        put(out, number.into());
    }
    put(out, tx.fee_sats);
    put(out, tx.first_seen_ms);
    put(out, tx.inputs.len() as u64);
    for input in &tx.inputs {
        out.extend_from_slice(&input.prev_txid.0);
        put(out, input.prev_vout.into());
        put(out, input.sequence.into());
        put(out, input.value);
        put(out, input.birth.map_or(0, |height| u64::from(height) + 1));
        put_bytes(out, &input.script);
    }
    put(out, tx.outputs.len() as u64);
    for output in &tx.outputs {
        put(out, output.value);
        put_bytes(out, &output.script);
    }
    if let Some(raw) = &tx.raw {
        put_bytes(out, raw);
    }
}

fn take_tx(from: &mut Input<'_>) -> Read<MempoolTx> {
    let txid = Txid(from.hash()?);
    let flags = from.byte()?;
    if flags & !(HAS_WTXID | HAS_RAW) != 0 {
        return Err(BadMempoolBytes("unknown flags"));
    }
    let wtxid = if flags & HAS_WTXID != 0 { Txid(from.hash()?) } else { txid };
    if flags & HAS_WTXID != 0 && wtxid == txid {
        return Err(BadMempoolBytes("a witness id that says nothing"));
    }
    let (size, base_size, sigop_cost) = (from.u32()?, from.u32()?, from.u32()?);
    let (version, lock_time) = (from.u32()?.cast_signed(), from.u32()?);
    let (fee_sats, first_seen_ms) = (from.u64()?, from.u64()?);
    let count = from.count(MIN_INPUT)?;
    let mut inputs = Vec::with_capacity(count);
    for _ in 0..count {
        inputs.push(MempoolInput {
            prev_txid: Txid(from.hash()?),
            prev_vout: from.u32()?,
            sequence: from.u32()?,
            value: from.u64()?,
            birth: match from.u64()? {
                0 => None,
                n => Some(u32::try_from(n - 1).map_err(|_| BadMempoolBytes("a height above 32 bits"))?),
            },
            script: from.bytes()?,
        });
    }
    let count = from.count(MIN_OUTPUT)?;
    let mut outputs = Vec::with_capacity(count);
    for _ in 0..count {
        outputs.push(MempoolOutput { value: from.u64()?, script: from.bytes()? });
    }
    let raw = if flags & HAS_RAW != 0 { Some(from.bytes()?) } else { None };
    Ok(MempoolTx {
        txid,
        wtxid,
        size,
        base_size,
        sigop_cost,
        fee_sats,
        version,
        lock_time,
        first_seen_ms,
        inputs: inputs.into(),
        outputs: outputs.into(),
        raw,
    })
}

impl MempoolTx {
    /// Appends the binary form, as a table stores it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_tx(self, out);
    }

    /// Reads the binary form; all of `bytes` must be used.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadMempoolBytes> {
        let mut input = open(bytes)?;
        let tx = take_tx(&mut input)?;
        input.end(tx)
    }
}

impl MempoolDelta {
    /// Appends the binary form. It has no length of its own: a transport frames it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        match self {
            MempoolDelta::Reset { sequence } => {
                out.push(0);
                put(out, *sequence);
            }
            MempoolDelta::Add(tx) => {
                out.push(1);
                put_tx(tx, out);
            }
            MempoolDelta::Remove { txid, reason } => {
                out.push(2);
                out.extend_from_slice(&txid.0);
                match reason {
                    RemoveReason::Unknown => out.push(0),
                    RemoveReason::Confirmed { height } => {
                        out.push(1);
                        put(out, (*height).into());
                    }
                    RemoveReason::Replaced { by } => {
                        out.push(2);
                        out.extend_from_slice(&by.0);
                    }
                    RemoveReason::Evicted => out.push(3),
                    RemoveReason::Conflict => out.push(4),
                    RemoveReason::Expired => out.push(5),
                }
            }
            MempoolDelta::Block { height, hash, time } => {
                out.push(3);
                put(out, (*height).into());
                out.extend_from_slice(&hash.0);
                put(out, (*time).into());
            }
            MempoolDelta::Sequence(sequence) => {
                out.push(4);
                put(out, *sequence);
            }
            MempoolDelta::NodeFloor(floor) => {
                out.push(5);
                for number in [floor.mempool_min_fee, floor.min_relay_fee, floor.max_bytes, floor.usage_bytes] {
                    put(out, number);
                }
            }
        }
    }

    /// Reads the binary form; all of `bytes` must be used.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadMempoolBytes> {
        let mut input = open(bytes)?;
        let delta = match input.byte()? {
            0 => MempoolDelta::Reset { sequence: input.u64()? },
            1 => MempoolDelta::Add(Arc::new(take_tx(&mut input)?)),
            2 => MempoolDelta::Remove {
                txid: Txid(input.hash()?),
                reason: match input.byte()? {
                    0 => RemoveReason::Unknown,
                    1 => RemoveReason::Confirmed { height: input.u32()? },
                    2 => RemoveReason::Replaced { by: Txid(input.hash()?) },
                    3 => RemoveReason::Evicted,
                    4 => RemoveReason::Conflict,
                    5 => RemoveReason::Expired,
                    _ => return Err(BadMempoolBytes("unknown reason")),
                },
            },
            3 => MempoolDelta::Block { height: input.u32()?, hash: BlockHash(input.hash()?), time: input.u32()? },
            4 => MempoolDelta::Sequence(input.u64()?),
            5 => MempoolDelta::NodeFloor(NodeFloor {
                mempool_min_fee: input.u64()?,
                min_relay_fee: input.u64()?,
                max_bytes: input.u64()?,
                usage_bytes: input.u64()?,
            }),
            _ => return Err(BadMempoolBytes("unknown kind")),
        };
        input.end(delta)
    }
}

impl MempoolSample {
    /// Appends the binary form, as the journal stores it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        for number in [self.time_unix, self.count, self.vsize, self.fees_sats, self.next_block_median] {
            put(out, number);
        }
        put_maybe(out, self.height.map(u64::from));
        for number in [self.inflow_milli_vb_s, self.mempool_min_fee, self.min_relay_fee] {
            put_maybe(out, number);
        }
        let parts = [self.stress, self.stress_backlog, self.stress_feerate, self.stress_inflow, self.stress_entry];
        for number in parts {
            put_maybe(out, number.map(u64::from));
        }
    }

    /// Reads the binary form; all of `bytes` must be used.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadMempoolBytes> {
        let mut input = open(bytes)?;
        let sample = MempoolSample {
            time_unix: input.u64()?,
            count: input.u64()?,
            vsize: input.u64()?,
            fees_sats: input.u64()?,
            next_block_median: input.u64()?,
            height: input.maybe_u32()?,
            inflow_milli_vb_s: input.maybe()?,
            mempool_min_fee: input.maybe()?,
            min_relay_fee: input.maybe()?,
            stress: input.maybe_u32()?,
            stress_backlog: input.maybe_u32()?,
            stress_feerate: input.maybe_u32()?,
            stress_inflow: input.maybe_u32()?,
            stress_entry: input.maybe_u32()?,
        };
        input.end(sample)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    fn txid() -> impl Strategy<Value = Txid> {
        any::<[u8; 32]>().prop_map(Txid)
    }

    fn script() -> impl Strategy<Value = Box<[u8]>> {
        vec(any::<u8>(), 0..40).prop_map(Into::into)
    }

    fn tx() -> impl Strategy<Value = MempoolTx> {
        let input = (txid(), any::<u32>(), any::<u32>(), any::<u64>(), script(), option::of(any::<u32>())).prop_map(
            |(prev_txid, prev_vout, sequence, value, script, birth)| MempoolInput {
                prev_txid,
                prev_vout,
                sequence,
                value,
                script,
                birth,
            },
        );
        let output = (any::<u64>(), script()).prop_map(|(value, script)| MempoolOutput { value, script });
        let ids = (txid(), option::of(txid()));
        let numbers = (any::<[u32; 4]>(), any::<i32>(), any::<u64>(), any::<u64>());
        (ids, numbers, vec(input, 0..4), vec(output, 0..4), option::of(script())).prop_map(
            |((txid, wtxid), ([size, base_size, sigop_cost, lock_time], version, fee_sats, seen), i, o, raw)| {
                MempoolTx {
                    txid,
                    wtxid: wtxid.unwrap_or(txid),
                    size,
                    base_size,
                    sigop_cost,
                    fee_sats,
                    version,
                    lock_time,
                    first_seen_ms: seen,
                    inputs: i.into(),
                    outputs: o.into(),
                    raw,
                }
            },
        )
    }

    fn delta() -> impl Strategy<Value = MempoolDelta> {
        let reason = prop_oneof![
            any::<u32>().prop_map(|height| RemoveReason::Confirmed { height }),
            txid().prop_map(|by| RemoveReason::Replaced { by }),
            Just(RemoveReason::Evicted),
            Just(RemoveReason::Conflict),
            Just(RemoveReason::Expired),
            Just(RemoveReason::Unknown),
        ];
        prop_oneof![
            any::<u64>().prop_map(|sequence| MempoolDelta::Reset { sequence }),
            tx().prop_map(|tx| MempoolDelta::Add(Arc::new(tx))),
            (txid(), reason).prop_map(|(txid, reason)| MempoolDelta::Remove { txid, reason }),
            (any::<u32>(), any::<[u8; 32]>(), any::<u32>())
                .prop_map(|(height, hash, time)| { MempoolDelta::Block { height, hash: BlockHash(hash), time } }),
            any::<u64>().prop_map(MempoolDelta::Sequence),
            any::<[u64; 4]>().prop_map(|[mempool_min_fee, min_relay_fee, max_bytes, usage_bytes]| {
                MempoolDelta::NodeFloor(NodeFloor { mempool_min_fee, min_relay_fee, max_bytes, usage_bytes })
            }),
        ]
    }

    proptest! {
        #[test]
        fn deltas_read_back(delta in delta(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            delta.encode(&mut bytes);
            prop_assert_eq!(MempoolDelta::decode(&bytes), Ok(delta));
            prop_assert!(MempoolDelta::decode(&bytes[..cut.index(bytes.len())]).is_err());
            bytes.push(0);
            prop_assert!(MempoolDelta::decode(&bytes).is_err());
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_as_what_they_say(
            delta in delta(), at in any::<prop::sample::Index>(), with in any::<u8>(),
        ) {
            let mut bytes = Vec::new();
            delta.encode(&mut bytes);
            let at = at.index(bytes.len());
            bytes[at] = with;
            if let Ok(read) = MempoolDelta::decode(&bytes) {
                let mut again = Vec::new();
                read.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn transactions_and_samples_read_back(tx in tx(), n in any::<[u64; 7]>(), some in any::<[bool; 4]>()) {
            let mut bytes = Vec::new();
            tx.encode(&mut bytes);
            prop_assert_eq!(MempoolTx::decode(&bytes), Ok(tx));
            let small = |n: u64, some: bool| some.then_some(n as u32);
            let sample = MempoolSample {
                time_unix: n[0],
                height: small(n[1], some[0]),
                count: n[1],
                vsize: n[2],
                fees_sats: n[3],
                next_block_median: n[4],
                inflow_milli_vb_s: some[1].then_some(n[5]),
                mempool_min_fee: some[2].then_some(n[6]),
                min_relay_fee: some[3].then_some(n[0]),
                stress: small(n[2], some[1]),
                stress_backlog: small(n[3], some[0]),
                stress_feerate: small(n[4], some[2]),
                stress_inflow: small(n[5], some[3]),
                stress_entry: small(n[6], some[1]),
            };
            let mut bytes = Vec::new();
            sample.encode(&mut bytes);
            prop_assert_eq!(MempoolSample::decode(&bytes), Ok(sample));
            prop_assert!(MempoolSample::decode(&bytes[1..]).is_err() || bytes[1] == VERSION);
        }

        #[test]
        fn noise_never_panics(noise in vec(any::<u8>(), 0..200)) {
            let mut bytes = vec![VERSION];
            bytes.extend(&noise);
            let _ = (MempoolDelta::decode(&bytes), MempoolTx::decode(&bytes), MempoolSample::decode(&bytes));
            let _ = MempoolDelta::decode(&noise);
        }
    }

    #[test]
    fn a_count_beyond_the_input_allocates_nothing() {
        let mut bytes = vec![VERSION];
        bytes.extend([7; 32]);
        bytes.push(0);
        bytes.extend([1; 7]);
        put(&mut bytes, u64::MAX >> 8);
        assert_eq!(MempoolTx::decode(&bytes), Err(BadMempoolBytes("too short")));
        assert_eq!(MempoolTx::decode(&[2]), Err(BadMempoolBytes("another version")));
    }

    #[test]
    fn sigops_make_it_larger() {
        let mut tx = MempoolTx {
            txid: Txid([1; 32]),
            wtxid: Txid([2; 32]),
            size: 222,
            base_size: 141,
            sigop_cost: 1,
            fee_sats: 1,
            version: 2,
            lock_time: 0,
            first_seen_ms: 0,
            inputs: Box::default(),
            outputs: Box::default(),
            raw: None,
        };
        assert_eq!((tx.weight(), tx.vsize(), tx.adjusted_vsize()), (645, 162, 162));
        tx.sigop_cost = 80;
        assert_eq!((tx.vsize(), tx.adjusted_vsize()), (162, 400));
    }
}
