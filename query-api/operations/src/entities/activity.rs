//! `GET /v1/entities/{entity_name}/activity`.

use cairn_http::{ApiError, ErrorCode, Info, Tool};
use cairn_model::Height;
use cairn_reader::View;
use cairn_tables::block_log::BlockLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    facts::Basis,
    find::{Found, FoundBy},
    recent::{EntityTx, MAX_HISTORIES, recent},
};
use crate::{
    context::{CLAIMS, Ctx, LABELS, SETTLED_AT, TIP, confirmations, index_get, lacks},
    definitions::ENTITIES,
    operation::Operation,
    parameters::{limit::Limit, since::SinceParam},
    register::is_a_person,
    values::{Btc, rfc3339},
};

/// Why the sums of a transaction are missing.
const TOO_MANY: &str = "it has more members of the entity than are read at once";

/// The newest transactions of an entity.
pub(crate) struct Activity;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ActivityInput {
    /// Name of the entity, in any spelling, or another name that sources write.
    #[schemars(length(min = 1, max = 100), example = "cairn-exchange")]
    entity_name: String,
    /// Transactions.
    #[serde(default)]
    limit: Limit<25, 100>,
    /// No older transactions: a height, a date (YYYY-MM-DD, UTC), a time in RFC 3339, or days before the newest block,
    /// as in `30d`. Times are monotone block times.
    #[schemars(example = "30d")]
    since: Option<SinceParam>,
}

/// The newest transactions of an entity.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ActivityOutput {
    /// Name for paths.
    name: String,
    /// `name` if the request has this name, `alias` if another spelling, or another name that sources write.
    found_by: FoundBy,
    /// True if it counts as a natural person.
    is_person: bool,
    limit: u32,
    /// Height of the first block that was asked for; null without `since`.
    since_height: Option<Height>,
    /// Confirmed transactions that pay a member or spend from one, the newest first.
    transactions: Vec<EntityMovement>,
    /// True if older transactions are missing because too many members had to be read.
    truncated: bool,
    /// Why it is truncated; otherwise null.
    truncated_reason: Option<String>,
    /// Members whose history was read.
    members_read: u64,
    /// Members that the entity has.
    address_count: u64,
    basis: Basis,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A transaction of an entity: what it does to all its members together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityMovement {
    txid: String,
    height: Height,
    /// Time of the block's header.
    time: String,
    time_unix: u32,
    /// Sum of its outputs to members; null if they are too many.
    received_sats: Option<u64>,
    /// Sum of its inputs from members.
    sent_sats: Option<u64>,
    /// Received minus sent: below zero if the entity paid.
    net_sats: Option<i64>,
    net_btc: Option<Btc>,
    /// Why the sums are null; otherwise null.
    sums_reason: Option<&'static str>,
    /// Members that it pays or spends from; a lower bound if the sums are null.
    member_count: u64,
    confirmations: u32,
    /// True below 6 confirmations: a reorg may still undo it.
    provisional: bool,
}

impl Operation for Activity {
    const INFO: Info = Info {
        summary: "Newest transactions of an entity's known addresses, with their sums over all of them",
        description: "The confirmed transactions that pay known addresses of an entity or spend from them, the newest first, each \
            once: what all members together received and sent, and the difference. Only known addresses count, so change to an \
            unknown one looks like a payment. At most 5 000 histories are read; if that is too few, the list is still the \
            newest, and `truncated` says that older ones are missing.",
        freshness: &[TIP, CLAIMS, LABELS],
        errors: &[ErrorCode::EntityNotFound],
        tool: Tool::reads(
            "asked what an exchange, pool or service did lately: money in, money out, newest transactions",
            "its addresses and balance (entity_lookup), or one address (wallet_transactions)",
        ),
        ..index_get("entity_recent_activity", "/v1/entities/{entity_name}/activity", "entities")
    };
    type Input = ActivityInput;
    type Output = ActivityOutput;

    fn run(ctx: &Ctx<'_>, input: ActivityInput) -> Result<ActivityOutput, ApiError> {
        let view = ctx.view()?;
        let Found { row, by } = Found::find(ctx, view, &input.entity_name)?;
        let since_height = input.since.map(|since| since.height(view));
        let chain = view.chain();
        let first = chain.get(since_height.unwrap_or(0)).map_or(view.tip().tx_end, |block| block.first_tx);
        let found = recent(ctx, view, &row.name, first, input.limit.get() as usize)?;
        let numbers: Vec<_> = found.txs.iter().map(|tx| tx.tx_num).collect();
        view.transactions().fetch(&numbers)?;
        let reason = || format!("histories of more than {MAX_HISTORIES} members are needed for older transactions");
        Ok(ActivityOutput {
            name: row.name.to_string(),
            found_by: by,
            is_person: is_a_person(&row),
            limit: input.limit.get(),
            since_height,
            transactions: found.txs.iter().map(|tx| movement(view, tx)).collect::<Result<_, _>>()?,
            truncated: found.is_cut,
            truncated_reason: found.is_cut.then(reason),
            members_read: found.histories as u64,
            address_count: row.members,
            basis: Basis::of(ctx, view)?,
            definition: ENTITIES,
        })
    }
}

fn movement(view: &View<'_>, tx: &EntityTx) -> Result<EntityMovement, ApiError> {
    let missing = || lacks::<BlockLog>(format!("transaction {}", tx.tx_num.0));
    let (txid, height) = view.transactions().txid(tx.tx_num)?.ok_or_else(missing)?;
    let time = view.chain().get(height).map(|block| block.time).ok_or_else(missing)?;
    // Sums of amounts stay below 2^51.
    let signed = |sats: u64| i64::try_from(sats).unwrap_or(i64::MAX);
    let net = tx.sums.map(|(received, sent)| signed(received) - signed(sent));
    let confirmations = confirmations(view.tip(), height);
    Ok(EntityMovement {
        txid: txid.to_string(),
        height,
        time: rfc3339(time),
        time_unix: time,
        received_sats: tx.sums.map(|(received, _)| received),
        sent_sats: tx.sums.map(|(_, sent)| sent),
        net_sats: net,
        net_btc: net.map(Btc),
        sums_reason: tx.sums.is_none().then_some(TOO_MANY),
        member_count: tx.members,
        confirmations,
        provisional: confirmations < SETTLED_AT,
    })
}
