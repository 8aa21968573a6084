//! The methods of the protocol. Each is a function from the client and its parameters to JSON.

mod fees;
mod headers;
mod scripthash;
mod server;
mod silentpayments;
mod transaction;

use crate::{answer::Answer, client::Client, failure::Failure, params::Params, rpc::Request};

/// True if the parameters of a method may be long.
pub(crate) fn may_be_long(method: &str) -> bool {
    matches!(method, "blockchain.transaction.broadcast" | "blockchain.transaction.broadcast_package")
}

/// Answers a request.
pub(crate) async fn answer(client: &mut Client, request: &Request) -> Answer {
    let Request { method, params, .. } = request;
    if method == "server.version" {
        return server::version(client, params).await;
    }
    client.has_asked = true;
    if let Some(answer) = server::answer(client, method, params).await {
        return answer;
    }
    match method.as_str() {
        "blockchain.block.header" => headers::header(client, params).await,
        "blockchain.block.headers" => headers::headers(client, params).await,
        "blockchain.headers.subscribe" => headers::subscribe(client).await,
        "blockchain.scripthash.get_balance" => scripthash::balance(client, params).await,
        "blockchain.scripthash.get_history" => scripthash::history(client, params).await,
        "blockchain.scripthash.get_mempool" => scripthash::mempool(client, params).await,
        "blockchain.scripthash.listunspent" => scripthash::unspent(client, params).await,
        "blockchain.scripthash.subscribe" => scripthash::subscribe(client, params).await,
        "blockchain.scripthash.unsubscribe" => scripthash::unsubscribe(client, params).await,
        "blockchain.silentpayments.subscribe" => silentpayments::subscribe(client, params).await,
        "blockchain.silentpayments.unsubscribe" => silentpayments::unsubscribe(client, params).await,
        "blockchain.transaction.broadcast" => transaction::broadcast(client, params).await,
        "blockchain.transaction.broadcast_package" if client.is_1_6() => transaction::package(client, params).await,
        "blockchain.transaction.get" => transaction::get(client, params).await,
        "blockchain.transaction.get_merkle" => transaction::merkle(client, params).await,
        "blockchain.transaction.id_from_pos" => transaction::id_from_pos(client, params).await,
        "blockchain.estimatefee" => fees::estimate(client, params).await,
        "blockchain.relayfee" if !client.is_1_6() => fees::relay(client).await,
        "mempool.get_fee_histogram" => fees::histogram(client).await,
        "mempool.get_info" if client.is_1_6() => fees::info(client).await,
        _ => unknown(client, method, params).await,
    }
}

async fn unknown(client: &Client, method: &str, _: &Params) -> Answer {
    client.electrum.charge(client.asker).await?;
    let method: String = method.chars().take(64).collect();
    Err(Failure::new(Failure::UNKNOWN_METHOD, format!("unknown method {method:?}")))
}
