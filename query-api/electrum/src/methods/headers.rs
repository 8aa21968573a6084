//! Headers of blocks, with proofs up to a checkpoint.

use cairn_http::Cost;
use cairn_model::{BlockHash, Height};
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, write},
    checkpoint::Proof,
    client::Client,
    failure::Failure,
    params::Params,
    watch::tip,
};

/// Most headers of an answer.
const MAX_HEADERS: u32 = 2016;
/// Most headers of a light request.
const FEW: u32 = 200;

pub(super) async fn subscribe(client: &mut Client) -> Answer {
    let look = client.subscriptions.want_tips();
    let tip = client.electrum.read(Cost::Light, client.asker, |at, _| Ok(tip(at)?)).await?;
    client.subscriptions.told_tip(look, tip.hash);
    write(&tip.value())
}

pub(super) async fn header(client: &Client, params: &Params) -> Answer {
    let (height, checkpoint) = (params.height(0, "height")?, params.number_or(1, "cp_height", 0)?);
    let electrum = std::sync::Arc::clone(&client.electrum);
    let cost = if checkpoint == 0 { Cost::Light } else { Cost::Standard };
    let found = client.electrum.read(cost, client.asker, move |at, _| {
        let tip = at.view.tip().height;
        if height > tip {
            return Err(Failure::bad(format!("height {height} is above the tip {tip}")).into());
        }
        let header = hex::encode(at.header(height)?.header);
        if checkpoint == 0 {
            return Ok(json!(header));
        }
        check(height, checkpoint, tip)?;
        let mut members = proof_members(&electrum.prove(at, height, checkpoint.saturating_add(1))?);
        members.insert("header".to_owned(), json!(header));
        Ok(Value::Object(members))
    });
    write(&found.await?)
}

pub(super) async fn headers(client: &Client, params: &Params) -> Answer {
    let start = params.height(0, "start_height")?;
    let count = params.number(1, "count")?.min(MAX_HEADERS);
    let checkpoint = params.number_or(2, "cp_height", 0)?;
    let (electrum, is_list) = (std::sync::Arc::clone(&client.electrum), client.is_1_6());
    let cost = if count <= FEW && checkpoint == 0 { Cost::Light } else { Cost::Standard };
    let found = client.electrum.read(cost, client.asker, move |at, _| {
        let tip = at.view.tip().height;
        let end = start.saturating_add(count).min(tip.saturating_add(1));
        let heights: Vec<Height> = (start..end).collect();
        let rows = at.view.headers(&heights)?;
        let headers: Vec<String> = rows.iter().flatten().map(|row| hex::encode(row.header)).collect();
        let mut members = Map::new();
        members.insert("count".to_owned(), json!(headers.len()));
        if is_list {
            members.insert("headers".to_owned(), json!(headers));
        } else {
            members.insert("hex".to_owned(), json!(headers.concat()));
        }
        members.insert("max".to_owned(), json!(MAX_HEADERS));
        if let Some(last) = heights.last().filter(|_| checkpoint > 0) {
            check(*last, checkpoint, tip)?;
            members.append(&mut proof_members(&electrum.prove(at, *last, checkpoint.saturating_add(1))?));
        }
        Ok(Value::Object(members))
    });
    write(&found.await?)
}

/// Checks that the checkpoint is in the chain, and not below the header.
fn check(height: Height, checkpoint: Height, tip: Height) -> Result<(), Failure> {
    if height <= checkpoint && checkpoint <= tip {
        return Ok(());
    }
    Err(Failure::bad(format!("cp_height {checkpoint} is not between the header's height {height} and the tip {tip}")))
}

fn proof_members(proof: &Proof) -> Map<String, Value> {
    let branch: Vec<String> = proof.branch.iter().map(|node| BlockHash(*node).to_string()).collect();
    let root = BlockHash(proof.root).to_string();
    [("branch", json!(branch)), ("root", json!(root))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}
