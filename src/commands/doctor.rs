//! `cairn doctor`.

use cairn_model::ChainParams;
use cairn_setup::{Examination, NodeFolder, SetUp, examine, folder_around, open_blocks};

use crate::{
    cli::Doctor,
    config::All,
    exit::{Exit, Failure},
    out::{print, table},
};

/// Examines the settings in force. Fails if something does not work until somebody mends it.
pub(crate) fn doctor(args: &Doctor) -> Result<Exit, Failure> {
    let all = &args.all;
    let chain = chain_of(all)?;
    let node = all.node.config(cairn_reader::Facts::of(chain).script_prefix)?;
    let blocks_dir = all.blocks.blocks_dir.as_deref();
    let near = args.bitcoin_dir.clone().or_else(|| {
        let paths = [all.node.node_cookie.as_deref(), blocks_dir];
        paths.into_iter().flatten().find_map(folder_around)
    });
    let folder = near.map(|dir| NodeFolder::read(&dir)).transpose();
    let (folder, unread) = match folder {
        Ok(folder) => (folder, None),
        Err(error) => (None, Some(error)),
    };
    let datadir = if all.index.is_set() { Some(all.index.datadir()?.as_path()) } else { None };
    let mut found = examine(&SetUp {
        chain,
        blocks_dir,
        datadir,
        node: node.as_ref(),
        folder: folder.as_ref(),
        listeners: &all.listeners(),
        memory_bytes: all.run_bound(),
        silent_payments: all.optional.silent_payments,
    });
    if let Some(error) = &unread {
        found.add_conf_error(error);
    }
    shown(&found, args.json)
}

/// The network of the settings, or else that of the block files.
fn chain_of(all: &All) -> Result<ChainParams, Failure> {
    match (all.chain.given()?, &all.blocks.blocks_dir) {
        (Some(chain), _) => Ok(chain),
        (None, Some(dir)) => match open_blocks(dir, None) {
            Ok(files) => Ok(files.network().into()),
            Err(_) => all.chain.params(),
        },
        (None, None) => all.chain.params(),
    }
}

/// Prints what was looked at and the findings.
pub(crate) fn shown(found: &Examination, is_json: bool) -> Result<Exit, Failure> {
    let text = if is_json {
        serde_json::to_string_pretty(found).map_err(|error| Failure::new(Exit::Other, error.to_string()))? + "\n"
    } else {
        page(found)
    };
    print(&text)?;
    Ok(if found.has_fault() { Exit::Difference } else { Exit::Done })
}

fn page(found: &Examination) -> String {
    let rows: Vec<Vec<String>> =
        found.checked.iter().map(|checked| vec![checked.name.to_owned(), checked.state.clone()]).collect();
    let mut text = table(&["examined", "state"], &rows);
    for finding in &found.findings {
        text += &format!("\n{finding}");
    }
    if found.findings.is_empty() {
        text += "\nno fault\n";
    }
    text
}
