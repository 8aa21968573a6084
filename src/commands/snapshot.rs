//! `cairn snapshot`.

mod checkpoint;
mod opened;

use std::{fs, path::Path};

use cairn_export::{
    Checked, Dataset, Destination, Difference, ExportOptions, ExportStep, Exported, Format, MANIFEST, export, verify,
};
use cairn_follow::size;
use cairn_pipeline::{Phase, Progress, ProgressStep};
use sha2::{Digest, Sha256};

use self::opened::Opened;
use crate::{
    cli::{SnapshotCommand, SnapshotExport, SnapshotVerify},
    commands::Context,
    exit::{Exit, Failure},
    out::{print, table, thousands},
    progress::Reporter,
    signals::{self, Signals},
};

/// Runs a subcommand of `cairn snapshot`.
pub(crate) fn snapshot(command: &SnapshotCommand, context: &Context) -> Result<Exit, Failure> {
    match command {
        SnapshotCommand::Export(args) => export_to(args, context),
        SnapshotCommand::Checkpoint(args) => checkpoint::make(args, context),
        SnapshotCommand::List(args) => checkpoint::list(args),
        SnapshotCommand::Verify(args) => compare(args, context),
        SnapshotCommand::Restore(args) => checkpoint::restore(args, context),
    }
}

fn export_to(args: &SnapshotExport, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let opened = Opened::of(&args.out, args.store, signals.cancel_token())?;
    let folder = match &opened {
        Opened::Folder(folder) => {
            fs::create_dir_all(folder).map_err(Failure::io(folder))?;
            fs::canonicalize(folder).map_err(Failure::io(folder))?
        }
        Opened::Store(_) => Path::new("").to_owned(),
    };
    let (place, shown) = match &opened {
        Opened::Folder(_) => (Destination::Folder(&folder), folder.display().to_string()),
        Opened::Store(store) => (Destination::Store(store), store.location().to_string()),
    };
    if let Some(manifest) = &args.since
        && !is_manifest_of(manifest, place, &shown)
    {
        return Err(Failure::usage(format!("--since: {manifest} is not the manifest of {shown}"))
            .hint(format!("an export is continued where it is: --since {shown}/{MANIFEST}")));
    }
    let threads = args.threads.map_or_else(processors, |threads| threads as usize);
    let options = ExportOptions {
        datasets: match args.datasets.is_empty() {
            true => Dataset::all().iter().collect(),
            // In the order of the dictionary, each once.
            false => {
                Dataset::all().iter().filter(|of| args.datasets.iter().any(|found| found.name == of.name)).collect()
            }
        },
        grid: args.partition,
        format: Format {
            hashes: args.hashes.into(),
            amounts: args.amounts.into(),
            txids: args.txids,
            addresses: args.addresses,
        },
        workers: threads,
        memory: args.memory,
        is_incremental: args.since.is_some(),
    };
    // One work folder for each destination.
    let name = hex::encode(&Sha256::digest(shown.as_bytes())[..8]);
    let work = datadir.join("exports").join(name);
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let step = |step: ExportStep| {
        reporter.step(ProgressStep {
            phase: Phase::Export,
            done: step.files,
            total: step.of_files,
            bytes: step.bytes,
            of_bytes: step.of_bytes,
        });
    };
    let made = export(&datadir.join("index"), place, &work, &options, signals.cancel_token(), &step);
    drop(reporter);
    match made {
        Ok(made) => print(&exported(&made, &shown))?,
        Err(error) if error.is_cancelled() => return Ok(signals::exit_of_cancelled()),
        Err(error) => return Err(error.into()),
    }
    Ok(Exit::Done)
}

/// True if `--since` names the manifest of the destination.
fn is_manifest_of(manifest: &str, place: Destination<'_>, shown: &str) -> bool {
    match place {
        Destination::Store(_) => {
            manifest.strip_suffix(MANIFEST).and_then(|before| before.strip_suffix('/')) == Some(shown)
        }
        Destination::Folder(out) => {
            let path = Path::new(manifest);
            let parent =
                path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
            let found = parent.and_then(|folder| fs::canonicalize(folder).ok());
            found.as_deref() == Some(out) && path.file_name().is_some_and(|name| name == MANIFEST)
        }
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Formats the summary of an export for people.
fn exported(Exported { manifest, written, resumed }: &Exported, out: &str) -> String {
    let rows: Vec<Vec<String>> = manifest
        .datasets
        .iter()
        .map(|dataset| {
            let files = thousands(dataset.files.len() as u64);
            vec![dataset.name.clone(), thousands(dataset.rows), files, size(dataset.bytes)]
        })
        .collect();
    let mut text = table(&["dataset", ">rows", ">files", ">bytes"], &rows);
    for file in manifest.files() {
        text += &file.note.as_ref().map(|note| format!("{}: {note}\n", file.path)).unwrap_or_default();
    }
    let kept = manifest.since.as_ref().map_or(0, |since| since.kept);
    text += &format!(
        "{} as of block {} {}: {} files written, {} from a run that was stopped, {} kept\n{out}/{MANIFEST}\n",
        manifest.network,
        manifest.tip_height,
        manifest.tip_hash,
        thousands(*written),
        thousands(*resumed),
        thousands(kept)
    );
    if let Some(since) = manifest.since.as_ref().filter(|since| !since.rewritten.is_empty()) {
        text += &format!("changed since block {}: {}\n", since.tip_height, since.rewritten.join(", "));
    }
    text
}

fn compare(args: &SnapshotVerify, context: &Context) -> Result<Exit, Failure> {
    let signals = Signals::take_over()?;
    let opened = Opened::of(&args.from, args.chosen.store, signals.cancel_token())?;
    let place = match &opened {
        Opened::Folder(folder) => Destination::Folder(folder),
        Opened::Store(store) => Destination::Store(store),
    };
    if checkpoint::is_one(&opened, &args.chosen)? {
        return checkpoint::compare(args, &opened, &signals, context);
    }
    if args.chosen.public_key.is_some() {
        return Err(Failure::usage("--public-key: there is no checkpoint, and exports are not signed".to_owned()));
    }
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let step = |bytes: u64, of_bytes: u64| {
        reporter.step(ProgressStep { phase: Phase::Verify, done: bytes >> 10, total: of_bytes >> 10, bytes, of_bytes });
    };
    let checked = verify(place, signals.cancel_token(), &step);
    drop(reporter);
    let Checked { manifest, differences } = match checked {
        Ok(checked) => checked,
        Err(error) if error.is_cancelled() => return Ok(signals::exit_of_cancelled()),
        Err(error) => return Err(error.into()),
    };
    let files = manifest.files().count() as u64;
    let rows: u64 = manifest.files().map(|file| file.rows).sum();
    for Difference { path, what } in &differences {
        print(&format!("DIFFERS  {path}: {what}\n"))?;
    }
    let ok = differences.is_empty();
    print(&format!(
        "{}: {} files, {} rows, as of block {} {}\n",
        if ok { "ok" } else { "damaged" },
        thousands(files),
        thousands(rows),
        manifest.tip_height,
        manifest.tip_hash
    ))?;
    Ok(if ok { Exit::Done } else { Exit::Difference })
}
