//! `cairn plan`.

use cairn_setup::{Disk, Machine, MeasureLimits, Plan, Severity, Sheet, index_bytes, measure, open_blocks};

use crate::{
    cli,
    config::SERVING_MEMORY,
    exit::{Exit, Failure, plain},
    out::{print, table},
};

/// Prints the sizing sheet. Fails if the disk is too small, so that a script stops before it begins.
pub(crate) fn plan(args: &cli::Plan) -> Result<Exit, Failure> {
    let folder = args.blocks.folder()?;
    let files = open_blocks(folder, args.chain.given()?)?;
    let datadir = if args.index.is_set() { Some(args.index.datadir()?) } else { None };
    let disk = match datadir {
        Some(datadir) => Disk::of(datadir).map_err(|error| format!("{}: {}", datadir.display(), plain(&error))),
        None => Err("no data folder is given (--datadir)".to_owned()),
    };
    let plan = Plan {
        network: files.network().to_string(),
        blocks_dir: folder.display().to_string(),
        sizes: files.sizes()?,
        measured: measure(&files, &MeasureLimits::default())?,
        disk,
        machine: Machine::here(),
        memory_bytes: args.limits.memory + args.cache.cache + args.mempool.mempool_memory + SERVING_MEMORY,
        silent_payments: args.optional.silent_payments,
        index_bytes: datadir.map_or(0, |datadir| index_bytes(datadir)),
    };
    let sheet = Sheet::new(&plan);
    print(&if args.json { json(&sheet)? } else { page(&sheet) })?;
    let faults: Vec<_> = sheet.findings.iter().filter(|finding| finding.severity == Severity::Fault).collect();
    Ok(match faults[..] {
        [] => Exit::Done,
        _ if faults.iter().any(|fault| fault.kind == "disk_too_small") => Exit::DiskFull,
        _ => Exit::Other,
    })
}

fn json(sheet: &Sheet) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(sheet).map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    Ok(text + "\n")
}

fn page(sheet: &Sheet) -> String {
    let row = |line: &cairn_setup::Line| {
        vec![line.name.to_owned(), line.value.to_string(), line.source.to_string(), line.from.clone()]
    };
    let rows: Vec<Vec<String>> = sheet.lines.iter().map(row).collect();
    let mut text = format!("network {}\n\n", sheet.network);
    text += &table(&["", ">value", "source", "from"], &rows);
    for finding in &sheet.findings {
        text += &format!("\n{finding}");
    }
    text
}
