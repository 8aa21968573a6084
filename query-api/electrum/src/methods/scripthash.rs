//! Histories, balances and coins of scripts, and subscriptions to them.

use std::{rc::Rc, sync::Arc};

use cairn_chain::{Pinned, Script};
use cairn_domain::script_sha256;
use cairn_http::{ApiError, Cost, Work};
use cairn_model::{Height, Outpoint, Sats, Txid};
use serde::Serialize;
use serde_json::json;

use crate::{
    answer::{Answer, write},
    client::Client,
    failure::{Failure, Refusal},
    params::Params,
    status::{self, as_text},
};

pub(super) async fn balance(client: &Client, params: &Params) -> Answer {
    let hash = params.script_hash()?;
    let found = client.electrum.read(Cost::Light, client.asker, move |at, _| {
        let script = at.script(hash)?;
        let confirmed = script.totals().map_or(0, |totals| totals.balance());
        let unconfirmed =
            i64::try_from(at.unconfirmed_totals(&script)?.net_sats()).map_err(|_| ApiError::internal())?;
        Ok(json!({"confirmed": confirmed, "unconfirmed": unconfirmed}))
    });
    write(&found.await?)
}

/// A coin, as the protocol writes it.
#[derive(Serialize)]
struct Coin {
    #[serde(serialize_with = "as_text")]
    tx_hash: Txid,
    tx_pos: u32,
    /// 0 if it is unconfirmed.
    height: Height,
    value: Sats,
}

/// Writes entries, and counts the bytes of the answer.
fn written<T: Serialize>(entries: &[T], work: &Work) -> Result<String, Refusal> {
    let text = serde_json::to_string(entries).map_err(ApiError::from)?;
    work.answered(text.len())?;
    Ok(text)
}

pub(super) async fn history(client: &Client, params: &Params) -> Answer {
    let (hash, max) = (params.script_hash()?, client.electrum.max_history());
    let found = client.electrum.read_by_size(client.asker, move |at, work, room| {
        let script = at.script(hash)?;
        let length = status::length(at, &script, max, room)?;
        written(&status::history(at, &script, length)?, work)
    });
    found.await
}

pub(super) async fn mempool(client: &Client, params: &Params) -> Answer {
    let (hash, max) = (params.script_hash()?, client.electrum.max_history());
    let found = client.electrum.read_by_size(client.asker, move |at, work, room| {
        let script = Script { hash, found: None };
        let length = status::length(at, &script, max, room)?;
        written(&status::unconfirmed(at.mempool()?, &script, length), work)
    });
    found.await
}

pub(super) async fn unspent(client: &Client, params: &Params) -> Answer {
    let (hash, max) = (params.script_hash()?, client.electrum.max_history());
    let found = client.electrum.read_by_size(client.asker, move |at, work, room| {
        let script = at.script(hash)?;
        let confirmed = script.totals().map_or(0, |totals| totals.coin_count());
        let all = confirmed.saturating_add(at.unconfirmed_totals(&script)?.tx_count);
        if all > max {
            return Err(Failure::too_large().into());
        }
        if all > room {
            return Err(Refusal::Larger(all));
        }
        let mut coins = confirmed_coins(at, &script, confirmed)?;
        coins.extend(unconfirmed_coins(at, &script, all, work)?);
        written(&coins, work)
    });
    found.await
}

/// Confirmed coins that no unconfirmed transaction spends, in the order of the chain.
fn confirmed_coins(at: &Pinned<'_>, script: &Script, count: u64) -> Result<Vec<Coin>, Refusal> {
    let Some(found) = script.found.filter(|_| count > 0) else { return Ok(Vec::new()) };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let coins = at.view.scripts().coins(found.id, Outpoint::default(), limit)?;
    let (mempool, mut values) = (at.mempool()?, Vec::with_capacity(coins.len()));
    for some in coins.chunks(128) {
        let numbers: Vec<_> = some.iter().map(|(outpoint, _)| outpoint.tx_num).collect();
        let txids = at.view.transactions().txids(&numbers)?;
        for ((outpoint, sats), (txid, height)) in some.iter().zip(txids) {
            if mempool.spender(&txid, outpoint.vout).is_none() {
                values.push(Coin { tx_hash: txid, tx_pos: outpoint.vout, height, value: *sats });
            }
        }
    }
    Ok(values)
}

/// Unconfirmed coins that no unconfirmed transaction spends.
fn unconfirmed_coins(at: &Pinned<'_>, script: &Script, limit: u64, work: &Rc<Work>) -> Result<Vec<Coin>, Refusal> {
    let (mempool, mut values) = (at.mempool()?, Vec::new());
    for entry in status::unconfirmed(mempool, script, limit) {
        work.poll()?;
        let Some(tx) = mempool.get(&entry.txid) else { continue };
        for (vout, output) in (0u32..).zip(&tx.outputs) {
            let is_coin = script_sha256(&output.script) == script.hash && mempool.spender(&entry.txid, vout).is_none();
            if is_coin {
                values.push(Coin { tx_hash: entry.txid, tx_pos: vout, height: 0, value: output.value });
            }
        }
    }
    Ok(values)
}

pub(super) async fn subscribe(client: &mut Client, params: &Params) -> Answer {
    let hash = params.script_hash()?;
    let look = client.subscriptions.add(hash)?;
    let (electrum, max) = (Arc::clone(&client.electrum), client.electrum.max_history());
    let found = client
        .electrum
        .read_by_size(client.asker, move |at, _, room| electrum.statuses.of(at, &at.script(hash)?, max, room));
    match found.await {
        Ok(status) => {
            client.subscriptions.told(hash, look, &status);
            write(&status.map(hex::encode))
        }
        Err(failure) => {
            client.subscriptions.remove(&hash);
            Err(failure)
        }
    }
}

pub(super) async fn unsubscribe(client: &mut Client, params: &Params) -> Answer {
    let hash = params.script_hash()?;
    client.electrum.charge(client.asker).await?;
    write(&client.subscriptions.remove(&hash))
}
