//! `cairn verify`.

use std::path::Path;

use cairn_follow::connect;
use cairn_model::{BlockHash, Height};
use cairn_node::{NodeClient, TxOutSetInfo};
use cairn_pipeline::{
    PipelineError,
    verify::{Audit, Damage, audit_archive, audit_folder_within},
};
use cairn_reader::{Reader, View, replica_of};

use crate::{
    cli::{Raw, Verify},
    commands::Context,
    exit::{Exit, Failure},
    out::{print, table, thousands},
    progress::Reporter,
    signals::{self, Signals},
};

/// Number of headers in one request to the node.
const HEADERS: u32 = 2_000;

/// Audits the index; also compares it with the node if one is set.
pub(crate) fn verify(args: &Verify, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let (reader, mut audit) =
        match audit_folder_within(&datadir.join("index"), args.raw.into(), args.limit.memory, &reporter) {
            Ok(found) => found,
            Err(PipelineError::Stopped) => return Ok(signals::exit_of_cancelled()),
            Err(error) => return Err(error.into()),
        };
    drop(reporter);
    let Some(reader) = reader.filter(|_| !audit.checks.is_empty()) else {
        print(&damages(&audit, datadir, args.raw))?;
        return Ok(Exit::Difference);
    };
    if replica_of(datadir)?.is_none() {
        audit_archive(datadir, &reader.view()?, &mut audit)?;
    }
    let config = args.node.config(reader.facts().script_prefix)?;
    let row = |ok: bool, name: &str, found: &str| {
        vec![if ok { "ok" } else { "DIFFERS" }.to_owned(), name.to_owned(), found.to_owned()]
    };
    let mut rows: Vec<Vec<String>> = audit.checks.iter().map(|c| row(c.ok, c.name, &c.detail)).collect();
    let mut ok = audit.ok();
    if let Some(config) = config {
        let (client, _) = connect(&config, reader.facts().chain_params(), signals.cancel_token())?;
        let view = reader.view()?;
        for found in [headers(&client, &view)?].into_iter().chain(coins(&client, &audit)?) {
            ok &= found.ok;
            rows.push(row(found.ok, found.name, &found.detail));
        }
    }
    print(&(page(&reader, &audit, &rows) + &damages(&audit, datadir, args.raw)))?;
    Ok(if ok { Exit::Done } else { Exit::Difference })
}

/// Formats the damages with their repairs, and the command that repairs them.
fn damages(audit: &Audit, datadir: &Path, raw: Raw) -> String {
    if audit.damages.is_empty() {
        return String::new();
    }
    let height = |height: Option<Height>| height.map(|height| height.to_string()).unwrap_or_default();
    let row = |d: &Damage| vec![d.place.clone(), height(d.height), line(&d.what), d.repair.explained()];
    let rows: Vec<Vec<String>> = audit.damages.iter().map(row).collect();
    let mut text = format!("\n{}", table(&["damaged", ">height", "what", "repair"], &rows));
    let more = audit.damage_count.saturating_sub(rows.len() as u64);
    if more > 0 {
        text += &format!("and {} more\n", thousands(more));
    }
    if let Some(command) = audit.damages.iter().find_map(|damage| damage.repair.command()) {
        // A damage that only `--raw all` finds needs `--raw all` in the repair as well.
        let all = if raw == Raw::All { " --raw all" } else { "" };
        text += &format!("\nStop what writes the index, then run: {command} --datadir {}{all}\n", quoted(datadir));
    }
    text
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Joins the lines of a message: those of the database may have several.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn page(reader: &Reader, audit: &Audit, rows: &[Vec<String>]) -> String {
    let mut text = table(&["", "check", "found"], rows);
    text += &format!("\nnetwork  {}\n", reader.facts().chain_params());
    text += &format!("height   {}\n", audit.height);
    text += &format!("hash     {}\n", audit.hash);
    text += &format!("coins    {}\n", thousands(audit.coins));
    text += &format!("supply   {}.{:08} BTC\n", audit.supply_sats / 100_000_000, audit.supply_sats % 100_000_000);
    text += &format!("muhash   {}\n", audit.muhash);
    text
}

struct NodeCheck {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Compares every header up to our tip with the node's.
fn headers(client: &NodeClient, view: &View<'_>) -> Result<NodeCheck, Failure> {
    let name = "headers match the node";
    let tip = view.tip().height;
    let mut from = 0;
    while from <= tip {
        let heights: Vec<Height> = (from..=tip.min(from.saturating_add(HEADERS - 1))).collect();
        let theirs: Vec<Option<BlockHash>> = client.block_hashes(&heights)?;
        for (height, theirs) in heights.iter().zip(theirs) {
            let ours = view.header(*height)?.map(|row| row.hash);
            if theirs != ours {
                let shown = |hash: Option<BlockHash>| hash.map_or("none".to_owned(), |h| h.to_string());
                let detail = format!("height {height}: index {}, node {}", shown(ours), shown(theirs));
                return Ok(NodeCheck { name, ok: false, detail });
            }
        }
        from += heights.len() as u32;
    }
    Ok(NodeCheck { name, ok: true, detail: format!("{} headers", thousands(u64::from(tip) + 1)) })
}

/// Compares the coin set: MuHash, number of coins and supply.
fn coins(client: &NodeClient, audit: &Audit) -> Result<Vec<NodeCheck>, Failure> {
    let theirs: TxOutSetInfo = client.tx_out_set_info()?;
    if theirs.best != audit.hash {
        let detail = format!("the node is at block {}, height {}; let the index catch up", theirs.best, theirs.height);
        return Ok(vec![NodeCheck { name: "coin set matches the node", ok: false, detail }]);
    }
    let compare = |name, ours: String, theirs: String| {
        let ok = ours == theirs;
        let detail = if ok { ours } else { format!("index {ours}, node {theirs}") };
        NodeCheck { name, ok, detail }
    };
    Ok(vec![
        compare("MuHash of the coins matches the node", audit.muhash.to_string(), theirs.muhash),
        compare("number of coins matches the node", thousands(audit.coins), thousands(theirs.txouts)),
        compare(
            "supply matches the node",
            format!("{} sats", audit.supply_sats),
            format!("{} sats", theirs.total_amount),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_printed_as_a_shell_reads_them() {
        for (path, text) in [("/data/cairn", "/data/cairn"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$x", "'$x'")] {
            assert_eq!(quoted(Path::new(path)), text);
        }
    }
}
