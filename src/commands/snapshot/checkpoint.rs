//! `cairn snapshot checkpoint`, `list` and `restore`, and `verify` of a checkpoint.

use std::path::Path;

use cairn_checkpoint::{
    CHECKPOINT, CheckpointError, ExtraFile, Manifest, OnProgress, Placing, Pruned, Sending, Signer, Source, Target,
    Trust, prune, send, stored_checkpoints,
};
use cairn_follow::size;
use cairn_model::CancelToken;
use cairn_pipeline::{
    Phase, PipelineError, Progress, ProgressStep,
    verify::{RawCheck, audit_folder_within},
};
use cairn_state::backup;
use cairn_store::{Store, StoreError};

use super::opened::Opened;
use crate::{
    cli::{Chosen, SnapshotCheckpoint, SnapshotList, SnapshotRestore, SnapshotVerify},
    commands::{Context, events::write_events},
    exit::{Exit, Failure},
    out::{print, table, thousands},
    progress::Reporter,
    runtime::current_thread,
    signals::{self, Signals},
};

/// Name of the backup of the service state in a checkpoint.
const STATE: &str = "state.sqlite";
/// Name of the file of imported documents in a checkpoint.
const EVENTS: &str = "events.cairn";

/// Runs work on files and shows its progress; `None` if it was cancelled.
fn reported<T>(
    context: &Context,
    signals: &Signals,
    phase: Phase,
    work: impl FnOnce(&CancelToken, &OnProgress<'_>) -> Result<T, CheckpointError>,
) -> Result<Option<T>, Failure> {
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let seen = |bytes: u64, of_bytes: u64| {
        reporter.step(ProgressStep { phase, done: bytes >> 10, total: of_bytes >> 10, bytes, of_bytes });
    };
    match work(signals.cancel_token(), &seen) {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.is_cancelled() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn told(manifest: &Manifest) -> String {
    format!(
        "{} as of block {} {}, {} files, {}",
        manifest.network_name(),
        manifest.tip_height,
        manifest.tip_hash,
        thousands(manifest.files.len() as u64),
        size(manifest.bytes())
    )
}

pub(super) fn make(args: &SnapshotCheckpoint, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let url = if args.with_state { Some(args.state.url(&args.index)?) } else { None };
    let signer = args.sign_with.as_ref().map(|key| Signer::read(key, std::env::var("CAIRN_SIGNING_PASSWORD").ok()));
    let signer = signer.transpose()?;
    let runtime = current_thread()?;
    let copy_state = |path: &Path| match &url {
        Some(url) => runtime.block_on(backup(url, path, true)).map_err(|error| error.to_string()),
        None => Ok(()),
    };
    // Copy the events from the copy of the index, which is in the same folder: then both have the same state.
    let copy_events = |path: &Path| {
        let index = path.with_file_name("index");
        write_events(&index, path).map(drop).map_err(|error| error.to_string())
    };
    let mut beside = Vec::new();
    if url.is_some() {
        beside.push(ExtraFile { what: "the service state", name: STATE, write: &copy_state });
    }
    if args.with_events {
        beside.push(ExtraFile { what: "the imported documents", name: EVENTS, write: &copy_events });
    }
    let signals = Signals::take_over()?;
    let opened = Opened::of(&args.out, args.store, signals.cancel_token())?;
    match &opened {
        Opened::Folder(_) if args.keep.is_some() => {
            Err(Failure::usage("--keep is for stores: a folder has one checkpoint".to_owned()))
        }
        Opened::Folder(folder) => {
            let made = reported(context, &signals, Phase::Export, |cancel, seen| {
                cairn_checkpoint::make(datadir, folder, &beside, signer.as_ref(), cancel, seen)
            })?;
            let Some(manifest) = made else { return Ok(signals::exit_of_cancelled()) };
            print(&format!("{}\n{}\n", told(&manifest), folder.join(CHECKPOINT).display()))?;
            Ok(Exit::Done)
        }
        Opened::Store(store) => {
            let sending = Sending { workers: args.threads as usize };
            let sent = reported(context, &signals, Phase::Export, |cancel, seen| {
                send(datadir, store, &beside, signer.as_ref(), sending, cancel, seen)
            })?;
            let Some(sent) = sent else { return Ok(signals::exit_of_cancelled()) };
            let new = size(sent.new_bytes);
            print(&format!("{}\n{new} were new to {}: {}\n", told(&sent.manifest), store.location(), sent.name))?;
            args.keep.map_or(Ok(()), |keep| tidy(datadir, store, keep as usize))?;
            Ok(Exit::Done)
        }
    }
}

fn tidy(datadir: &Path, store: &Store, keep: usize) -> Result<(), Failure> {
    let Pruned { checkpoints, pieces, bytes } = prune(datadir, store, keep)?;
    let (checkpoints, pieces) = (thousands(checkpoints), thousands(pieces));
    print(&format!("removed: {checkpoints} checkpoints, {pieces} pieces, {}\n", size(bytes)))
}

pub(super) fn list(args: &SnapshotList) -> Result<Exit, Failure> {
    let signals = Signals::take_over()?;
    let store = Store::open(&args.location, &args.store.options(), signals.cancel_token())?;
    let mut rows = Vec::new();
    for found in stored_checkpoints(&store)? {
        let manifest = Source::Store(&store, Some(found.name.clone())).manifest(&Trust::Any)?;
        rows.push(vec![
            found.name,
            manifest.network_name(),
            manifest.tip_height.to_string(),
            manifest.made_at.clone(),
            size(manifest.bytes()),
            if found.is_signed { "yes" } else { "no" }.to_owned(),
        ]);
    }
    print(&table(&["checkpoint", "network", ">height", "made at", ">bytes", "signed"], &rows))?;
    Ok(Exit::Done)
}

fn trust(chosen: &Chosen) -> Result<Trust, Failure> {
    Ok(chosen.public_key.as_deref().map_or(Ok(Trust::Any), Trust::of_key)?)
}

fn source<'o>(opened: &'o Opened<'_>, chosen: &Chosen) -> Source<'o> {
    match opened {
        Opened::Folder(folder) => Source::Folder((*folder).to_owned()),
        Opened::Store(store) => Source::Store(store, chosen.name.clone()),
    }
}

/// True if there is a checkpoint, or if the arguments name one.
pub(super) fn is_one(opened: &Opened<'_>, chosen: &Chosen) -> Result<bool, Failure> {
    match opened {
        Opened::Folder(folder) => Ok(folder.join(CHECKPOINT).exists()),
        Opened::Store(store) => Ok(chosen.name.is_some() || !stored_checkpoints(store)?.is_empty()),
    }
}

pub(super) fn compare(
    args: &SnapshotVerify,
    opened: &Opened<'_>,
    signals: &Signals,
    context: &Context,
) -> Result<Exit, Failure> {
    let (source, trust) = (source(opened, &args.chosen), trust(&args.chosen)?);
    let compared = reported(context, signals, Phase::Verify, |cancel, seen| {
        cairn_checkpoint::verify(&source, &trust, cancel, seen)
    })?;
    let Some(checked) = compared else { return Ok(signals::exit_of_cancelled()) };
    for difference in &checked.differences {
        print(&format!("DIFFERS  {}: {}\n", difference.path, difference.what))?;
    }
    let ok = checked.differences.is_empty();
    print(&format!("{}: {}\n", if ok { "ok" } else { "damaged" }, told(&checked.manifest)))?;
    Ok(if ok { Exit::Done } else { Exit::Difference })
}

/// Audits an index and returns its first damage; `None` if it has none.
fn audited(index: &Path, memory: u64, context: &Context, signals: &Signals) -> Result<Option<String>, CheckpointError> {
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let (_, audit) = audit_folder_within(index, RawCheck::None, memory, &reporter).map_err(|error| match error {
        PipelineError::Stopped => StoreError::Stopped.into(),
        other => CheckpointError::Audit(other.to_string()),
    })?;
    let damage = audit.damages.iter().map(|damage| format!("{}: {}", damage.place, damage.what)).next();
    let differs =
        || audit.checks.iter().find(|check| !check.ok).map(|check| format!("{}: {}", check.name, check.detail));
    Ok(damage.or_else(differs))
}

pub(super) fn restore(args: &SnapshotRestore, context: &Context) -> Result<Exit, Failure> {
    let trust = trust(&args.chosen)?;
    let target = Target {
        datadir: args.index.datadir()?.to_owned(),
        placing: if args.link { Placing::Link } else { Placing::Copy },
        is_replica: args.replica,
        beside: args.beside.clone(),
        workers: args.threads as usize,
    };
    let signals = Signals::take_over()?;
    let opened = Opened::of(&args.from, args.chosen.store, signals.cancel_token())?;
    let source = source(&opened, &args.chosen);
    let audit =
        |index: &Path| if args.verify { audited(index, args.limit.memory, context, &signals) } else { Ok(None) };
    let restored = reported(context, &signals, Phase::Export, |cancel, seen| {
        cairn_checkpoint::restore_audited(&source, &trust, &target, &audit, cancel, seen)
    })?;
    let Some(restored) = restored else { return Ok(signals::exit_of_cancelled()) };
    let what = if restored.is_new { "restored" } else { "there already:" };
    let mut text =
        format!("{what} {}, {} of it already present\n", told(&restored.manifest), size(restored.kept_bytes));
    for path in &restored.beside {
        text += &format!("{}\n", path.display());
    }
    print(&text)?;
    Ok(Exit::Done)
}
