//! `GET /v1/entities/{entity_name}/activity`.

use cairn_tables::block_log::BlockLog;

use super::{
    facts::Basis,
    find::{FoundBy, FoundEntity},
    recent::{EntityTx, MAX_HISTORIES, recent},
};
use crate::{
    context::{SETTLED_AT, confirmations},
    definitions::ENTITIES,
    operation::prelude::*,
    parameters::{limit::Limit, since::SinceParam},
    register::is_a_person,
};

/// Why the sums of a transaction are missing.
const TOO_MANY: &str = "it has too many members of the entity to read at once";

pub(crate) struct Activity;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ActivityInput {
    /// Name of the entity, in any spelling, or another name that sources write.
    #[schemars(length(min = 1, max = 100), example = "cairn-exchange")]
    entity_name: String,
    /// Maximum number of transactions.
    #[serde(default)]
    limit: Limit<25, 100>,
    /// First block: a height, a date (YYYY-MM-DD, UTC), a time (RFC 3339), or days before the newest block, as in
    /// `30d`. Times are monotone block times.
    #[schemars(example = "30d")]
    since: Option<SinceParam>,
}

/// The newest transactions of an entity.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ActivityOutput {
    /// Name of the entity in paths.
    name: String,
    /// `name` if the request used this name; `alias` for another spelling, or another name in the sources.
    found_by: FoundBy,
    /// True if the entity counts as a natural person.
    is_person: bool,
    limit: u32,
    /// Height of the first requested block; null without `since`.
    since_height: Option<Height>,
    /// Confirmed transactions that pay a member or spend from one, the newest first.
    transactions: Vec<EntityMovement>,
    /// True if older transactions are missing because too many members had to be read.
    truncated: bool,
    /// Why older transactions are missing; otherwise null.
    truncated_reason: Option<String>,
    /// Number of members whose history was read.
    members_read: u64,
    /// Number of members of the entity.
    address_count: u64,
    basis: Basis,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A transaction of an entity, with its sums over all members.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityMovement {
    txid: String,
    height: Height,
    /// Time of the block's header.
    time: String,
    time_unix: u32,
    /// Sum of the outputs to members; null if there are too many.
    received_sats: Option<u64>,
    /// Sum of the inputs from members; null if there are too many.
    sent_sats: Option<u64>,
    /// Received minus sent; negative if the entity paid.
    net_sats: Option<i64>,
    net_btc: Option<Btc>,
    /// Why the sums are null; otherwise null.
    sums_reason: Option<&'static str>,
    /// Number of members that the transaction pays or spends from; a lower bound if the sums are null.
    member_count: u64,
    confirmations: u32,
    /// True with fewer than 6 confirmations: a reorg may still undo the transaction.
    provisional: bool,
}

impl Operation for Activity {
    const INFO: Info = Info {
        summary: "Newest transactions of an entity's known addresses, with their sums over all of them",
        description: "The confirmed transactions that pay known addresses of an entity or spend from them, the newest \
            first, each once: the sums that all members together received and sent, and the difference. Only known \
            addresses count, so change to an unknown one looks like a payment. At most 5 000 histories are read. If \
            there are more, the list still has the newest transactions, and `truncated` says that older ones are \
            missing.",
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
        let FoundEntity { row, by } = FoundEntity::find(ctx, view, &input.entity_name)?;
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
