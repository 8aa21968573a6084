//! JSON as Core writes it: amounts with eight decimals, scripts in its own assembler, transactions.

use std::io;

use bitcoin::opcodes::{Opcode, all};
use bitcoin::script::Instruction;
use bitcoin::{Address, Network, Script, Transaction, TxOut, consensus};
use cairn_chaingen::Coin;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};

/// Writes fractions with eight decimals, where these say all of it: that is how Core writes amounts. Other numbers
/// (a low difficulty) are written in full.
struct CoreNumbers;

impl Formatter for CoreNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let scaled = value * 1e8;
        let whole = scaled.round();
        if whole.abs() < 9e15 && (scaled - whole).abs() <= 1e-3 && (whole != 0.0 || value == 0.0) {
            let sats = whole as i64;
            let sign = if sats < 0 { "-" } else { "" };
            let sats = sats.unsigned_abs();
            write!(writer, "{sign}{}.{:08}", sats / 100_000_000, sats % 100_000_000)
        } else {
            write!(writer, "{value:e}")
        }
    }
}

/// Serializes a value.
pub(crate) fn to_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Neither the value nor a vector can refuse.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, CoreNumbers));
    bytes
}

/// Satoshis as a number of bitcoins.
pub(crate) fn btc(sats: u64) -> Value {
    json!(sats as f64 / 1e8)
}

/// A rate in satoshis per 1000 virtual bytes as bitcoins.
pub(crate) fn rate(fee: u64, vsize: u64) -> Value {
    btc((u128::from(fee) * 1000 / u128::from(vsize.max(1))) as u64)
}

/// Core's assembler: pushes of up to four bytes as numbers, longer ones in hexadecimal.
pub(crate) fn asm(script: &Script) -> String {
    let mut words = Vec::new();
    for instruction in script.instructions() {
        words.push(match instruction {
            Err(_) => "[error]".to_owned(),
            Ok(Instruction::Op(op)) => op_name(op),
            Ok(Instruction::PushBytes(push)) => match push.as_bytes() {
                bytes if bytes.len() <= 4 => bitcoin::script::read_scriptint_non_minimal(bytes)
                    .map_or_else(|_| hex::encode(bytes), |number| number.to_string()),
                bytes => hex::encode(bytes),
            },
        });
    }
    words.join(" ")
}

fn op_name(op: Opcode) -> String {
    match op.to_u8() {
        0x4f => "-1".to_owned(),
        small @ 0x51..=0x60 => (small - 0x50).to_string(),
        // The names that Core keeps from before BIP 65 and BIP 112 are those that the library has, too.
        _ if op == all::OP_CLTV => "OP_CHECKLOCKTIMEVERIFY".to_owned(),
        _ if op == all::OP_CSV => "OP_CHECKSEQUENCEVERIFY".to_owned(),
        _ => op.to_string(),
    }
}

/// Core's name of an output's type.
fn type_name(script: &Script, version: u32) -> &'static str {
    let anchor = script.as_bytes() == [0x51, 0x02, 0x4e, 0x73];
    match () {
        () if script.is_p2pk() => "pubkey",
        () if script.is_p2pkh() => "pubkeyhash",
        () if script.is_p2sh() => "scripthash",
        () if script.is_multisig() => "multisig",
        () if script.is_p2wpkh() => "witness_v0_keyhash",
        () if script.is_p2wsh() => "witness_v0_scripthash",
        () if script.is_p2tr() => "witness_v1_taproot",
        () if anchor && version >= 280_000 => "anchor",
        () if script.is_witness_program() => "witness_unknown",
        () if script.is_op_return() && script.is_push_only_after_return() => "nulldata",
        () => "nonstandard",
    }
}

trait PushOnly {
    fn is_push_only_after_return(&self) -> bool;
}

impl PushOnly for Script {
    fn is_push_only_after_return(&self) -> bool {
        Script::from_bytes(&self.as_bytes()[1..]).is_push_only()
    }
}

/// How scripts are to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) network: Network,
    pub(crate) version: u32,
}

pub(crate) fn script_json(script: &Script, style: Style) -> Value {
    let mut value = json!({ "asm": asm(script), "hex": hex::encode(script.as_bytes()) });
    let kind = type_name(script, style.version);
    // Core gives no address to a bare key.
    if kind != "pubkey"
        && let Ok(address) = Address::from_script(script, style.network)
    {
        value["address"] = json!(address.to_string());
    }
    value["type"] = json!(kind);
    value
}

fn output_json(txout: &TxOut, n: usize, style: Style) -> Value {
    json!({ "value": btc(txout.value.to_sat()), "n": n, "scriptPubKey": script_json(&txout.script_pubkey, style) })
}

/// A transaction; `spent` are the coins it spends, if known: then it has its fee, and with `prevouts` the coins too.
pub(crate) fn tx_json(tx: &Transaction, spent: Option<&[Coin]>, prevouts: bool, style: Style) -> Value {
    let vin: Vec<Value> = tx
        .input
        .iter()
        .enumerate()
        .map(|(at, input)| {
            let mut value = if tx.is_coinbase() {
                json!({ "coinbase": hex::encode(input.script_sig.as_bytes()) })
            } else {
                json!({
                    "txid": input.previous_output.txid.to_string(),
                    "vout": input.previous_output.vout,
                    "scriptSig": { "asm": asm(&input.script_sig), "hex": hex::encode(input.script_sig.as_bytes()) },
                })
            };
            if !input.witness.is_empty() {
                value["txinwitness"] = input.witness.iter().map(hex::encode).collect();
            }
            if let Some(coin) = spent.filter(|_| prevouts).and_then(|spent| spent.get(at)) {
                value["prevout"] = json!({
                    "generated": coin.coinbase,
                    "height": coin.height,
                    "value": btc(coin.txout.value.to_sat()),
                    "scriptPubKey": script_json(&coin.txout.script_pubkey, style),
                });
            }
            value["sequence"] = json!(input.sequence.0);
            value
        })
        .collect();
    let vout: Vec<Value> = tx.output.iter().enumerate().map(|(n, txout)| output_json(txout, n, style)).collect();
    let mut value = json!({
        "txid": tx.compute_txid().to_string(),
        "hash": tx.compute_wtxid().to_string(),
        "version": tx.version.0,
        "size": tx.total_size(),
        "vsize": tx.vsize(),
        "weight": tx.weight().to_wu(),
        "locktime": tx.lock_time.to_consensus_u32(),
        "vin": vin,
        "vout": vout,
    });
    if let Some(spent) = spent.filter(|_| !tx.is_coinbase()) {
        let income: u64 = spent.iter().map(|coin| coin.txout.value.to_sat()).sum();
        let outgo: u64 = tx.output.iter().map(|txout| txout.value.to_sat()).sum();
        value["fee"] = btc(income.saturating_sub(outgo));
    }
    value["hex"] = json!(consensus::encode::serialize_hex(tx));
    value
}
