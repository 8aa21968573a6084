//! `cairn labels` and `cairn pools`, and common parts of imports of claims.

use cairn_model::DAY_SECS;
use std::{collections::BTreeMap, thread};

use cairn_clock::now_secs;
use cairn_domain::{Subject, parse_address, script_sha256};
use cairn_events::{Body, Claim, ClaimId, ClaimList, ContestAct, MAX_ROWS, Slug, SlugError};
use cairn_inputs::{ClaimDefaults, ClaimLayout, ClaimMap, ClaimOptions, ClaimReport, STARTER_LABELS, read_claims};
use cairn_reader::{ReadError, Reader, SourceShare, View, Volume};
use cairn_tables::listings::Profiles;
use serde::Serialize;

use super::{
    claims::ClaimRow,
    contests::{ContestRow, contest},
    db::open,
    import::{Content, Imported, Refused, import},
    operator::now,
};
use crate::{
    cli::{Import, LabelsCommand, LabelsImport, LabelsShow, LabelsStatus, PoolsCommand},
    config::IndexDir,
    exit::{Exit, Failure},
    out::{print, table, thousands, time},
};

/// Maximum number of documents of lists that a command reads.
const MAX_DOCUMENTS: usize = 1_000_000;

/// Runs a subcommand of `cairn labels`.
pub(crate) fn labels(command: &LabelsCommand) -> Result<Exit, Failure> {
    match command {
        LabelsCommand::Import(args) => import_labels(args),
        LabelsCommand::Show(args) => show(args),
        LabelsCommand::Status(args) => status(args),
        LabelsCommand::Licences(index) => licences(index),
        LabelsCommand::Dispute(args) => contest(args, ContestAct::Contests),
        LabelsCommand::Resolve(args) => contest(args, ContestAct::Settles),
        LabelsCommand::Redact(args) => contest(args, ContestAct::Redacts),
    }
}

/// Runs a subcommand of `cairn pools`.
pub(crate) fn pools(command: &PoolsCommand) -> Result<Exit, Failure> {
    let PoolsCommand::Import(args) = command;
    let options = ImportOptions { layout: Some(ClaimLayout::Pools), ..ImportOptions::named("pools")? };
    Ok(import_claims(&args.from, args.source.as_ref(), options)?.0.exit)
}

pub(super) struct ImportOptions {
    pub(super) list: Slug,
    pub(super) is_complete: bool,
    pub(super) layout: Option<ClaimLayout>,
    /// Allowed layouts; if empty, all are allowed.
    pub(super) among: &'static [ClaimLayout],
    pub(super) map: Option<ClaimMap>,
    pub(super) defaults: ClaimDefaults,
}

impl ImportOptions {
    /// Creates options for a list of this name; the file decides the rest.
    pub(super) fn named(list: &str) -> Result<Self, Failure> {
        let list = list.parse().map_err(|error: SlugError| Failure::new(Exit::Other, error.to_string()))?;
        Ok(ImportOptions {
            list,
            is_complete: false,
            layout: None,
            among: &[],
            map: None,
            defaults: ClaimDefaults::default(),
        })
    }
}

fn import_labels(args: &LabelsImport) -> Result<Exit, Failure> {
    let list = match &args.list {
        Some(list) => list.clone(),
        None => list_of(&args.from)?,
    };
    let defaults = ClaimDefaults {
        claim_type: args.claim_type,
        tier: args.evidence_tier,
        level: None,
        category: args.category,
        behaviour: args.behaviour,
        entity: args.entity.clone(),
        asserted_at: None,
    };
    let (layout, map) = (args.layout, args.map.clone());
    let options = ImportOptions { list, is_complete: args.complete, layout, among: &[], map, defaults };
    Ok(import_claims(&args.from, args.source.as_ref(), options)?.0.exit)
}

/// Derives the name of the list from the name of the file.
fn list_of(from: &Import) -> Result<Slug, Failure> {
    let stem = from.file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    // A packed file has the name of its content.
    let stem = stem.trim_end_matches(".csv").trim_end_matches(".yaml").trim_end_matches(".yml");
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' }).take(32).collect();
    name.parse()
        .map_err(|_| Failure::usage("the name of the file cannot be the name of a list: give --list".to_owned()))
}

/// Imports a file or URL. Returns the report of its rows; `None` if the file had not changed and was not read.
pub(super) fn import_claims(
    from: &Import,
    source: Option<&Slug>,
    chosen: ImportOptions,
) -> Result<(Imported, Option<ClaimReport>), Failure> {
    let network = open(from.index.datadir()?)?.facts().network;
    let mut read = None;
    let imported = import(from, source, |input| {
        let options = ClaimOptions {
            now: now(),
            network,
            layout: chosen.layout,
            map: chosen.map.clone(),
            defaults: chosen.defaults.clone(),
        };
        let mut claims: Vec<Claim> = Vec::new();
        let report = read_claims(input, &options, &mut |claim| claims.push(claim)).map_err(|e| e.to_string())?;
        if !chosen.among.is_empty() && !chosen.among.contains(&report.layout) {
            let allowed: Vec<&str> = chosen.among.iter().map(|layout| layout.as_str()).collect();
            let (found, allowed) = (report.layout.as_str(), allowed.join(" or "));
            return Err(Refused::File(format!("the layout is {found}, not {allowed}: see `cairn labels import`")));
        }
        print(&told(&report))?;
        let parts = parts(claims)?;
        let is_whole = chosen.is_complete || report.is_complete_by_nature;
        let is_complete = is_whole && parts.len() <= 1;
        if is_whole && !is_complete {
            let most = thousands(MAX_ROWS as u64);
            print(&format!(
                "  the file has more than {most} claims and becomes several documents: it does not end claims that it lacks\n"
            ))?;
        }
        let list = ClaimList { name: chosen.list.clone(), is_complete };
        let mut bodies: Vec<Body> = parts.into_iter().map(|rows| Body::Claims { list: list.clone(), rows }).collect();
        if !report.tags.is_empty() {
            bodies.push(Body::Listing { list: list.name.clone(), rows: report.tags.clone().into() });
        }
        if !report.profiles.is_empty() {
            bodies.push(Body::Listing { list: list.name, rows: report.profiles.clone().into() });
        }
        let (source, licence) = (report.source.clone(), report.licence.clone());
        read = Some(report);
        Ok(Content { bodies, source, licence })
    })?;
    Ok((imported, read))
}

/// Maximum number of documents that one file becomes.
const MAX_PARTS: u64 = 64;

/// Splits the claims of a file into documents. All claims of a script are in one document, because only one of two
/// documents with the same time is in force.
fn parts(claims: Vec<Claim>) -> Result<Vec<Vec<Claim>>, Refused> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let number = |claim: &Claim| {
        let hash = script_sha256(&claim.script);
        hash.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let least = claims.len().div_ceil(MAX_ROWS) as u64;
    for count in least..=MAX_PARTS {
        let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
        claims.iter().for_each(|claim| *sizes.entry(number(claim) % count).or_default() += 1);
        if sizes.values().all(|size| *size <= MAX_ROWS) {
            let mut parts: BTreeMap<u64, Vec<Claim>> = BTreeMap::new();
            for claim in claims {
                parts.entry(number(&claim) % count).or_default().push(claim);
            }
            return Ok(parts.into_values().collect());
        }
    }
    let most = thousands(MAX_ROWS as u64);
    Err(Refused::File(format!("the file cannot become {MAX_PARTS} documents of at most {most} claims: split it")))
}

/// Summary of the rows that were read.
fn told(report: &ClaimReport) -> String {
    let (rows, taken, refused) = (thousands(report.rows), thousands(report.taken), thousands(report.refused));
    let mut text = format!("layout {}: {rows} rows read, {taken} taken, {refused} left out\n", report.layout.as_str());
    if report.repeated > 0 {
        text += &format!("  {} repeat another row\n", thousands(report.repeated));
    }
    for (asset, count) in &report.other_assets {
        text += &format!("  {} of another asset: {asset}\n", thousands(*count));
    }
    if report.persons > 0 {
        text += &format!("  {} are about natural persons: no directory lists them\n", thousands(report.persons));
    }
    if !report.tags.is_empty() {
        text +=
            &format!("  {} tags of coinbases taken: a document of their own\n", thousands(report.tags.len() as u64));
    }
    if !report.profiles.is_empty() {
        text += "  they are profiles of entities: claims about addresses stay as they are\n";
    }
    if let Some(newest) = report.newest {
        text += &format!("  the newest is from {}\n", time(newest.into()));
    }
    for (code, count) in &report.by_code {
        text += &format!("  {}: {}\n", code.as_str(), thousands(*count));
    }
    for row in &report.bad_rows {
        text += &format!("  {row}\n");
    }
    text
}

/// Claims of a list about an address.
#[derive(Serialize)]
struct ShownList {
    source: String,
    licence: String,
    document: String,
    retrieved_at: String,
    /// Time when the list first had the address.
    first_retrieved_at: String,
    /// Time when a later, complete document no longer had the address; null if the list still has it.
    ended_at: Option<String>,
    claims: Vec<ShownClaim>,
}

/// A claim, as `labels show` prints it.
#[derive(Serialize)]
struct ShownClaim {
    claim_id: String,
    /// Null if nobody has contested the statement.
    contest: Option<ContestRow>,
    #[serde(flatten)]
    claim: ClaimRow,
}

fn show(args: &LabelsShow) -> Result<Exit, Failure> {
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let network = reader.facts().network;
    let subject = parse_address(&args.address, Some(network)).map_err(|error| Failure::usage(error.to_string()))?;
    let found = match &subject {
        Subject::Script(script) => view.claims().of_script(script, None)?,
        Subject::ScriptHash(hash) => view.claims().of_hash(hash, None)?,
    };
    for of in &found.lists {
        let missing = || Failure::new(Exit::Index, "the ledger lacks a document").hint("run `cairn repair`");
        let document = view.claims().document(&of.version)?.ok_or_else(missing)?;
        let mut claims = Vec::with_capacity(of.claims.len());
        for claim in &of.claims {
            let contest = of.contest_of(claim).map(|contest| ContestRow::find(&view, contest)).transpose()?;
            let claim_id = ClaimId { document: document.provenance.document, row: claim.row }.to_string();
            let claim = ClaimRow::of(document.seq, &of.list.list, claim, network);
            claims.push(ShownClaim { claim_id, contest, claim });
        }
        let shown = ShownList {
            source: of.list.source.to_string(),
            licence: document.provenance.licence.to_string(),
            document: document.provenance.document.to_string(),
            retrieved_at: time(of.version.retrieved_at.into()),
            first_retrieved_at: time(of.first_at.into()),
            ended_at: of.ended_at.map(|at| time(at.into())),
            claims,
        };
        let line = serde_json::to_string(&shown).map_err(|e| Failure::new(Exit::Other, e.to_string()))?;
        print(&(line + "\n"))?;
    }
    if found.lists.is_empty() {
        print("no list says anything about this address\n")?;
    }
    if found.is_cut {
        print("there are more claims than shown\n")?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct ListStatus {
    source: String,
    list: String,
    /// Number of documents that are not withdrawn.
    documents: u64,
    /// Number of claims of the newest document.
    claims: u32,
    retrieved_at: String,
    age_days: u64,
    /// Time of the newest assertion; null if no claim has one.
    newest_asserted_at: Option<String>,
    is_complete: bool,
    /// True if the newest document was retrieved more than 365 days ago.
    stale: bool,
    /// Number of scripts that the source labels, in any of its lists; null while claims are being processed.
    source_labelled_scripts: Option<u64>,
    /// Unspent satoshis of these scripts.
    source_labelled_sats: Option<u64>,
    /// Satoshis that these scripts spent in the last 1,008 blocks.
    source_week_spent_sats: Option<u64>,
    /// Satoshis of all inputs in these blocks.
    week_spent_sats: Option<u64>,
}

/// Days after which a list is stale (`definitions.md`, "Level by tier").
const STALE_DAYS: u64 = 365;

fn lists(view: &View<'_>) -> Result<Vec<ListStatus>, Failure> {
    let mut found: Vec<ListStatus> = Vec::new();
    let mut newest = None;
    for (key, size) in view.claims().lists(MAX_DOCUMENTS)? {
        let (source, list) = (key.list.source.to_string(), key.list.list.to_string());
        let is_same = found.last().is_some_and(|last| (&last.source, &last.list) == (&source, &list));
        let documents = if is_same { found.last().map_or(0, |last| last.documents) } else { 0 } + 1;
        // The complete documents of a list come after the others.
        if is_same && newest.is_some_and(|newest| newest > key.version) {
            found.last_mut().into_iter().for_each(|last| last.documents = documents);
            continue;
        }
        newest = Some(key.version);
        let age_days = now_secs().saturating_sub(key.version.retrieved_at.into()) / u64::from(DAY_SECS);
        let status = ListStatus {
            source,
            list,
            documents,
            claims: size.claims,
            retrieved_at: time(key.version.retrieved_at.into()),
            age_days,
            newest_asserted_at: size.newest.map(|at| time(at.into())),
            is_complete: key.is_complete,
            stale: age_days > STALE_DAYS,
            source_labelled_scripts: None,
            source_labelled_sats: None,
            source_week_spent_sats: None,
            week_spent_sats: None,
        };
        if is_same {
            found.pop();
        }
        found.push(status);
    }
    Ok(found)
}

fn status(args: &LabelsStatus) -> Result<Exit, Failure> {
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let mut found = lists(&view)?;
    let shares =
        if view.labels().are_settled()? { Some((view.labels().shares()?, week_volume(&reader)?)) } else { None };
    for of in &mut found {
        let Some((shares, week)) = &shares else { break };
        let share =
            shares.iter().find(|share| share.source.as_ref().is_some_and(|source| source.as_str() == of.source));
        of.source_labelled_scripts = Some(share.map_or(0, |share| share.scripts));
        of.source_labelled_sats = Some(share.map_or(0, |share| share.unspent));
        let spent = share.and_then(|share| week.by_source.get(share.source.as_ref()?));
        of.source_week_spent_sats = Some(spent.copied().unwrap_or(0));
        of.week_spent_sats = Some(week.spent);
    }
    if args.json {
        let lines: Result<Vec<String>, _> = found.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        print(&lines.iter().fold(String::new(), |text, line| text + line + "\n"))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = found
        .into_iter()
        .map(|of| {
            let complete = if of.is_complete { "yes" } else { "no" };
            let age = format!("{}{}", of.age_days, if of.stale { " (stale)" } else { "" });
            let newest = of.newest_asserted_at.unwrap_or_else(|| "-".to_owned());
            let (documents, claims) = (thousands(of.documents), thousands(of.claims.into()));
            vec![of.source, of.list, documents, claims, complete.to_owned(), of.retrieved_at, age, newest]
        })
        .collect();
    let heads = ["source", "list", ">documents", ">claims", "complete", "retrieved", ">days old", "newest assertion"];
    print(&table(&heads, &rows))?;
    match shares {
        Some((shares, week)) => print(&labelled(&shares, view.days().unspent()?, &week)),
        None => print("\nclaims are being processed: the labelled scripts are not known yet\n"),
    }?;
    Ok(Exit::Done)
}

/// Adds up the value that the inputs of the last week spent. Reads the blocks on all processors.
fn week_volume(reader: &Reader) -> Result<Volume, Failure> {
    let (first, last) = reader.view()?.week();
    let heights: Vec<u32> = (first..=last).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let some = |heights: &[u32]| -> Result<Volume, ReadError> {
        let (view, mut volume) = (reader.view()?, Volume::default());
        heights.iter().try_for_each(|height| view.labels().volume(*height).map(|block| volume.add(&block)))?;
        Ok(volume)
    };
    let parts = thread::scope(|scope| {
        let started: Vec<_> = heights
            .chunks(heights.len().div_ceil(threads))
            .map(|some_heights| scope.spawn(|| some(some_heights)))
            .collect();
        started.into_iter().map(|part| part.join()).collect::<Vec<_>>()
    });
    let mut all = Volume::default();
    for part in parts {
        all.add_all(
            &part.map_err(|_| Failure::new(Exit::Other, "a thread that reads blocks ended without a result"))??,
        );
    }
    Ok(all)
}

/// Formats the share of the chain that each source labels, and all sources together.
fn labelled(shares: &[SourceShare], supply: u64, week: &Volume) -> String {
    if shares.is_empty() {
        return String::new();
    }
    let percent = |millionths: u64| format!("{}.{:04} %", millionths / 10_000, millionths % 10_000);
    let rows = shares.iter().map(|share| {
        let source = share.source.as_ref().map_or_else(|| "all together".to_owned(), ToString::to_string);
        // In millionths of the supply, rounded down.
        let part = (u128::from(share.unspent) * 1_000_000).checked_div(supply.into()).unwrap_or(0);
        let part = u64::try_from(part).unwrap_or(u64::MAX);
        let spent = match &share.source {
            None => week.labelled,
            Some(source) => week.by_source.get(source).copied().unwrap_or(0),
        };
        let (scripts, unspent) = (thousands(share.scripts), thousands(share.unspent));
        vec![source, scripts, unspent, percent(part), percent(week.millionths(spent))]
    });
    let heads = ["labelled by", ">scripts", ">unspent satoshis", ">of all coins", ">of a week's inputs"];
    format!("\n{}", table(&heads, &rows.collect::<Vec<_>>()))
}

fn licences(index: &IndexDir) -> Result<Exit, Failure> {
    let reader = open(index.datadir()?)?;
    let view = reader.view()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let claims = view.claims().lists(MAX_DOCUMENTS)?.into_iter().map(|(key, _)| (key.list, key.version));
    let profiles = view.ledger().listings::<Profiles>()?.lists.into_iter().map(|of| (of.list, of.version));
    for (list, version) in claims.chain(profiles) {
        let Some(document) = view.claims().document(&version)? else { continue };
        let shipped = STARTER_LABELS.iter().find(|of| of.hash() == document.provenance.document);
        let said = shipped.map_or("-", |of| of.attribution);
        let row = vec![list.source.to_string(), document.provenance.licence.to_string(), said.to_owned()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    print(&table(&["source", "licence", "attribution"], &rows))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use cairn_events::{Behaviour, ClaimType, EvidenceTier};

    use super::*;

    fn claim(row: u32, script: u32) -> Claim {
        Claim {
            behaviour: Some(Behaviour::Scam),
            ..Claim::bare(row, script.to_be_bytes().into(), ClaimType::ReportedAs, EvidenceTier::Community)
        }
    }

    #[test]
    fn all_claims_of_a_script_are_in_one_document() {
        assert!(parts(Vec::new()).is_ok_and(|parts| parts.is_empty()));
        let count = MAX_ROWS as u32 + 10;
        let Ok(all) = parts((1..=count).map(|row| claim(row, row / 2)).collect()) else { panic!() };
        assert!(all.len() > 1 && all.iter().map(Vec::len).sum::<usize>() == count as usize);
        let mut part_of = BTreeMap::new();
        for (part, claims) in all.iter().enumerate() {
            assert!(claims.len() <= MAX_ROWS && claims.is_sorted_by_key(|claim| claim.row));
            for claim in claims {
                assert_eq!(*part_of.entry(claim.script.clone()).or_insert(part), part);
            }
        }
        assert!(parts((1..=count).map(|row| claim(row, 7)).collect()).is_err());
    }
}
