//! Methods of the node's wallets.

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::absolute::LockTime;
use bitcoin::consensus::encode::serialize_hex;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{Address, Amount, OutPoint, Psbt, ScriptBuf, TxOut, opcodes};
use serde_json::{Map, Value, json};

use super::args::parse_hash;
use super::render::btc;
use super::{Args, Result, RpcError, code};
use crate::World;
use crate::state::Shared;
use crate::world::{FundingPlan, OwnedCoin, WalletFault};

impl From<WalletFault> for RpcError {
    fn from(fault: WalletFault) -> Self {
        let (code, message) = match fault {
            WalletFault::NotFound => {
                (code::WALLET_NOT_FOUND, "Requested wallet does not exist or is not loaded".into())
            }
            WalletFault::NotSpecified => (
                code::WALLET_NOT_SPECIFIED,
                "Multiple wallets are loaded. Please select which wallet to use by requesting the RPC through the \
                 /wallet/<walletname> URI path."
                    .into(),
            ),
            WalletFault::Locked => (
                code::WALLET_UNLOCK_NEEDED,
                "Error: Please enter the wallet passphrase with walletpassphrase first.".into(),
            ),
            WalletFault::Insufficient => (code::WALLET, "Insufficient funds".into()),
            WalletFault::Preselected => (
                code::WALLET,
                "The preselected coins total amount does not cover the transaction target. Please allow other inputs \
                 to be automatically selected or include more coins manually"
                    .into(),
            ),
            WalletFault::TooDear => {
                (code::WALLET, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)".into())
            }
            WalletFault::BelowRelay { rate, least } => (
                code::WALLET,
                format!(
                    "Fee rate ({}.{:03} sat/vB) is lower than the minimum fee rate setting ({}.{:03} sat/vB)",
                    rate / 1000,
                    rate % 1000,
                    least / 1000,
                    least % 1000
                ),
            ),
            WalletFault::UnknownInput(outpoint) => (code::WALLET, format!("Not found pre-selected input {outpoint}")),
            WalletFault::Other(message) => (code::MISC, message),
        };
        RpcError::new(code, message)
    }
}

/// The wallet of a call.
fn name_of(world: &World, args: &Args) -> Result<String> {
    Ok(world.wallets.named(args.wallet())?)
}

pub(super) fn info(shared: &Shared, args: &Args) -> Result {
    let world = shared.world();
    let name = name_of(&world, args)?;
    let mut value = json!({
        "walletname": name,
        "walletversion": 169_900,
        "format": "sqlite",
        "txcount": world.wallets.scripts(&name),
        "keypoolsize": 4000,
        "keypoolsize_hd_internal": 4000,
        "paytxfee": btc(0),
        "private_keys_enabled": true,
        "avoid_reuse": false,
        "scanning": false,
        "descriptors": true,
        "external_signer": false,
        "blank": false,
        "lastprocessedblock": { "hash": world.tip().to_string(), "height": world.height() },
    });
    if let Some(is_locked) = world.wallets.locked(&name) {
        value["unlocked_until"] = json!(if is_locked { 0 } else { world.now() + 600 });
    }
    Ok(value)
}

pub(super) fn balances(shared: &Shared, args: &Args) -> Result {
    let world = shared.world();
    let name = name_of(&world, args)?;
    let coins = world.owned_coins(&name);
    let sum = |of: &dyn Fn(&OwnedCoin) -> bool| {
        btc(coins.iter().filter(|coin| of(coin)).map(|coin| coin.txout.value.to_sat()).sum())
    };
    Ok(json!({
        "mine": {
            "trusted": sum(&|coin| coin.is_safe && !coin.is_immature),
            "untrusted_pending": sum(&|coin| !coin.is_safe),
            "immature": sum(&|coin| coin.is_immature),
        },
        "lastprocessedblock": { "hash": world.tip().to_string(), "height": world.height() },
    }))
}

pub(super) fn list_unspent(shared: &Shared, args: &Args) -> Result {
    let least = args.value(0).map_or(Ok(1), |_| args.integer(0))?;
    let most = args.value(1).map_or(Ok(9_999_999), |_| args.integer(1))?;
    let with_unsafe = args.flag(3, true)?;
    let world = shared.world();
    let name = name_of(&world, args)?;
    let coins = world.owned_coins(&name).into_iter().filter(|coin| {
        (least..=most).contains(&i64::from(coin.confirmations)) && !coin.is_immature && (with_unsafe || coin.is_safe)
    });
    let network = world.node.style().network;
    Ok(coins
        .map(|coin| {
            let script = &coin.txout.script_pubkey;
            let mut value = json!({
                "txid": coin.outpoint.txid.to_string(),
                "vout": coin.outpoint.vout,
                "label": "",
                "scriptPubKey": hex::encode(script.as_bytes()),
                "amount": btc(coin.txout.value.to_sat()),
                "confirmations": coin.confirmations,
                "spendable": true,
                "solvable": true,
                "safe": coin.is_safe,
            });
            if let Ok(address) = Address::from_script(script, network) {
                value["address"] = json!(address.to_string());
            }
            value
        })
        .collect())
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMETER, message)
}

/// Bitcoins as a number or a text, in satoshis.
fn sats(value: &Value) -> Result<u64> {
    let amount = match value {
        Value::String(text) => text.parse::<f64>().ok(),
        value => value.as_f64(),
    };
    match amount.map(|amount| (amount * 1e8).round()) {
        Some(sats) if (0.0..=2.1e15).contains(&sats) => Ok(sats as u64),
        _ => Err(RpcError::new(code::TYPE, "Invalid amount")),
    }
}

fn inputs(value: Option<&Value>) -> Result<Vec<OutPoint>> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let outpoint = |input: &Value| {
        let txid = parse_hash(input["txid"].as_str().unwrap_or_default(), "txid")?;
        let vout = input["vout"].as_u64().and_then(|vout| u32::try_from(vout).ok());
        Ok(OutPoint { txid, vout: vout.ok_or_else(|| invalid("Invalid parameter, missing vout key"))? })
    };
    list.iter().map(outpoint).collect()
}

fn outputs(value: Option<&Value>, network: bitcoin::Network) -> Result<Vec<TxOut>> {
    let pairs: Vec<(&String, &Value)> = match value {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_object).flatten().collect(),
        Some(Value::Object(map)) => map.iter().collect(),
        _ => return Err(invalid("Invalid parameter, output argument must be non-null")),
    };
    let output = |(key, value): (&String, &Value)| {
        if key == "data" {
            let data = hex::decode(value.as_str().unwrap_or_default())
                .map_err(|_| invalid(format!("Data must be hexadecimal string (not '{value}')")))?;
            let push = PushBytesBuf::try_from(data).map_err(|_| invalid("Data is too long"))?;
            let script_pubkey = Builder::new().push_opcode(opcodes::all::OP_RETURN).push_slice(push).into_script();
            return Ok(TxOut { value: Amount::ZERO, script_pubkey });
        }
        let address = key.parse::<Address<_>>().ok().and_then(|address| address.require_network(network).ok());
        let address =
            address.ok_or_else(|| RpcError::new(code::NOT_FOUND, format!("Invalid Bitcoin address: {key}")))?;
        Ok(TxOut { value: Amount::from_sat(sats(value)?), script_pubkey: address.script_pubkey() })
    };
    pairs.into_iter().map(output).collect()
}

/// Options that the stand-in knows; Core refuses unknown ones as well.
const OPTIONS: [&str; 7] =
    ["add_inputs", "include_unsafe", "minconf", "replaceable", "feeRate", "fee_rate", "lockUnspents"];

fn rate(options: &Map<String, Value>, relay: u64) -> Result<u64> {
    match (options.get("feeRate"), options.get("fee_rate")) {
        (Some(_), Some(_)) => Err(invalid("Cannot specify both fee_rate (sat/vB) and feeRate (BTC/kvB)")),
        (Some(per_kvb), None) => sats(per_kvb),
        // Sat per virtual byte, with up to three decimals.
        (None, Some(per_vb)) => Ok(sats(per_vb)? / 100_000),
        (None, None) => Ok(relay),
    }
}

pub(super) fn create_funded_psbt(shared: &Shared, args: &Args) -> Result {
    let mut world = shared.world();
    let name = name_of(&world, args)?;
    let empty = Map::new();
    let options = args.value(3).and_then(Value::as_object).unwrap_or(&empty);
    if let Some(unknown) = options.keys().find(|key| !OPTIONS.contains(&key.as_str())) {
        return Err(RpcError::new(code::TYPE, format!("Unexpected key {unknown}")));
    }
    let flag = |key: &str, default| options.get(key).and_then(Value::as_bool).unwrap_or(default);
    let inputs = inputs(args.value(0))?;
    let lock_time = args.value(2).and_then(Value::as_u64).and_then(|time| u32::try_from(time).ok());
    let plan = FundingPlan {
        outputs: outputs(args.value(1), world.node.style().network)?,
        lock_time: LockTime::from_consensus(lock_time.unwrap_or_default()),
        add_inputs: flag("add_inputs", inputs.is_empty()),
        min_confirmations: options.get("minconf").and_then(Value::as_u64).map_or(0, |count| count as u32),
        rate: rate(options, world.node.policy.relay_fee)?,
        replaceable: flag("replaceable", true),
        inputs,
    };
    let (psbt, fee, change) = world.fund(&name, &plan)?;
    let place = change.map_or(-1, |at| at as i64);
    Ok(json!({ "psbt": STANDARD.encode(psbt.serialize()), "fee": btc(fee), "changepos": place }))
}

fn decode(text: &str) -> Result<Psbt> {
    let failed = |why: String| RpcError::new(code::DESERIALIZATION, format!("TX decode failed {why}"));
    let bytes = STANDARD.decode(text).map_err(|_| failed("invalid base64".to_owned()))?;
    Psbt::deserialize(&bytes).map_err(|error| failed(error.to_string()))
}

pub(super) fn process_psbt(shared: &Shared, args: &Args) -> Result {
    let mut psbt = decode(args.text(0)?)?;
    let does_sign = args.flag(1, true)?;
    let mut world = shared.world();
    let name = name_of(&world, args)?;
    let is_complete = world.process(&name, &mut psbt, does_sign)?;
    let mut value = json!({ "psbt": STANDARD.encode(psbt.serialize()), "complete": is_complete });
    if is_complete && shared.version >= 260_000 {
        value["hex"] = json!(serialize_hex(&psbt.extract_tx_unchecked_fee_rate()));
    }
    Ok(value)
}

pub(super) fn finalize_psbt(_: &Shared, args: &Args) -> Result {
    let psbt = decode(args.text(0)?)?;
    let does_extract = args.flag(1, true)?;
    let is_complete = psbt.inputs.iter().all(|input| {
        input.final_script_witness.is_some()
            || input.final_script_sig.as_ref().is_some_and(|sig: &ScriptBuf| !sig.is_empty())
    });
    Ok(if is_complete && does_extract {
        json!({ "hex": serialize_hex(&psbt.extract_tx_unchecked_fee_rate()), "complete": true })
    } else {
        json!({ "psbt": STANDARD.encode(psbt.serialize()), "complete": is_complete })
    })
}
