//! `cairn reports`: community reports, and what operators do with them. It also works while a server uses the same
//! database.

use cairn_clock::now_secs;
use cairn_state::{DoneAct, Moderation, PaymentSkip, Report, ReportAct, State};

use super::db::open;
use crate::{
    cli::{ReportsCommand, ReportsList, ReportsModerate, ReportsSkipped},
    exit::{Exit, Failure},
    out::{harmless, print, thousands, time},
    with_state::with_state,
};

/// Most ranges of skipped addresses that are looked up.
const MAX_SKIPS: u32 = 1_000;

pub(crate) fn reports(command: &ReportsCommand) -> Result<Exit, Failure> {
    match command {
        ReportsCommand::List(args) => with_state(&args.state.url(&args.index)?, async |state| list(state, args).await),
        ReportsCommand::Hide(args) => moderate(args, ReportAct::Hide),
        ReportsCommand::Restore(args) => moderate(args, ReportAct::Restore),
        ReportsCommand::Erase(args) => erase(args),
        ReportsCommand::Skipped(args) => skipped(args),
    }
}

async fn list(state: &State, args: &ReportsList) -> Result<Exit, Failure> {
    // Reads one more than it prints, to know if there are more.
    let reports = state.reports(args.only.into(), args.limit.saturating_add(1)).await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut paragraphs = Vec::new();
    for report in reports.iter().take(limit) {
        paragraphs.push(paragraph(report, &state.report_acts(&report.id).await?));
    }
    let mut text = paragraphs.join("\n");
    if reports.len() > limit {
        text += &format!("\nThere are more than {limit}: see --limit.\n");
    }
    print(&text)?;
    Ok(Exit::Done)
}

fn paragraph(report: &Report, acts: &[DoneAct]) -> String {
    let content = &report.content;
    let mut text = format!(
        "{} {} {} {}\n",
        report.id,
        content.visibility.name(),
        harmless(&content.category),
        time(report.created_at)
    );
    let published = report.published_in.as_ref();
    let published = published.map(|block| format!("last seen in block {} ({})", block.height, block.hash));
    let members = [
        ("address", Some(content.address.clone())),
        ("payment", Some(format!("{} sats to {}", thousands(content.amount_sats), report.payment_address))),
        ("paid", published),
        ("expires", Some(time(content.expires_at))),
        ("votes", Some(format!("{} up, {} down", report.up, report.down))),
        ("transactions", Some(content.evidence_txids.join(" ")).filter(|txids| !txids.is_empty())),
        ("web page", content.evidence_url.clone()),
        ("texts erased", report.erased_at.map(time)),
        ("answered by the owner", report.reply.as_ref().map(|reply| time(reply.replied_at))),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            text += &format!("  {name}: {}\n", harmless(&value));
        }
    }
    for act in acts {
        text += &format!("  {} {}: {}\n", act.act, time(act.at), harmless(&act.reason));
    }
    for line in content.description.lines() {
        text += &format!("  | {}\n", harmless(line));
    }
    for line in report.reply.iter().filter_map(|reply| reply.text.as_deref()).flat_map(str::lines) {
        text += &format!("  > {}\n", harmless(line));
    }
    text
}

fn moderate(args: &ReportsModerate, act: ReportAct) -> Result<Exit, Failure> {
    let (id, is) = (&args.id, act.leads_to().name());
    let url = args.state.url(&args.index)?;
    let done = with_state(&url, async |state| {
        Ok::<_, Failure>(state.moderate_report(id, act, &args.reason, now_secs()).await?)
    })?;
    match done {
        Moderation::Done => print(&format!("{id} is {is}\n"))?,
        Moderation::Before => return Err(Failure::new(Exit::Other, format!("report {id} is already {is}"))),
        Moderation::Unknown => return Err(unknown(id)),
    }
    Ok(Exit::Done)
}

fn unknown(id: &str) -> Failure {
    let hint = "`cairn reports list` prints the ids";
    Failure::new(Exit::Other, format!("there is no report {id:?}")).hint(hint)
}

/// Erases the texts of a report, then removes them from the files of the database. The second part may have to be
/// repeated, so a report that was erased before is not an error.
fn erase(args: &ReportsModerate) -> Result<Exit, Failure> {
    let id = &args.id;
    let (done, removed) = with_state(&args.state.url(&args.index)?, async |state| {
        let done = state.erase_report(id, &args.reason, now_secs()).await?;
        let removed = if done == Moderation::Unknown { false } else { state.scrub_reports().await? };
        Ok::<_, Failure>((done, removed))
    })?;
    let erased = match done {
        Moderation::Done => "the texts are erased",
        Moderation::Before => "the texts were erased before",
        Moderation::Unknown => return Err(unknown(id)),
    };
    print(&format!("{id}: {erased}\n"))?;
    if !removed {
        let message = "the texts are still in the files of the database, because others use it now";
        return Err(Failure::new(Exit::Other, message).hint("run the same command again later"));
    }
    print("Backups that were made before still have them.\n")?;
    Ok(Exit::Done)
}

/// Prints what the chain pays to skipped addresses.
fn skipped(args: &ReportsSkipped) -> Result<Exit, Failure> {
    let skips = with_state(&args.state.url(&args.index)?, async |state| {
        Ok::<_, Failure>(state.payment_skips(MAX_SKIPS).await?)
    })?;
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let Some(descriptor) = args.payments.config(Some(view.network()))?.descriptor else {
        return Err(Failure::usage("--payments-descriptor is missing")
            .hint("set CAIRN_PAYMENTS_DESCRIPTOR, or payments_descriptor in cairn.toml"));
    };
    let mut text = String::new();
    for PaymentSkip { descriptor: of, first_index, end_index, skipped_at } in skips {
        if of != descriptor.id() {
            continue;
        }
        text += &format!("{} to {} skipped {}\n", first_index, end_index.saturating_sub(1), time(skipped_at));
        for index in first_index..end_index {
            let (script, address) =
                descriptor.address(index, view.network()).map_err(|error| Failure::usage(error.to_string()))?;
            if let Some(found) = view.scripts().find(&script)? {
                text += &format!("  {index} {address} {} sats\n", thousands(found.totals.funded));
            }
        }
    }
    if text.is_empty() {
        text.push_str("no address was skipped\n");
    }
    print(&text)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use cairn_state::{NewReport, Reply, Visibility};

    use super::*;

    #[test]
    fn texts_of_strangers_are_harmless() {
        let content = NewReport {
            address: "bc1q".to_owned(),
            script_hash: "00".repeat(32),
            category: "scam".to_owned(),
            description: "one\nrp_0 hidden\u{202e}\u{1b}[31m".to_owned(),
            evidence_txids: Vec::new(),
            evidence_url: None,
            expires_at: 86_400,
            amount_sats: 5_000,
            visibility: Visibility::Shown,
        };
        let report = Report {
            id: "rp_1".to_owned(),
            content,
            created_at: 0,
            payment_script: Vec::new(),
            payment_address: "bc1p".to_owned(),
            up: 1,
            down: 2,
            published_in: None,
            reply: Some(Reply { text: Some("mine\u{1b}".to_owned()), replied_at: 2 }),
            erased_at: None,
        };
        let act = DoneAct { act: "hide".to_owned(), reason: "spam\r".to_owned(), at: 1 };
        assert_eq!(
            paragraph(&report, &[act]),
            "rp_1 shown scam 1970-01-01T00:00:00Z\n  address: bc1q\n  payment: 5,000 sats to bc1p\n  expires: \
             1970-01-02T00:00:00Z\n  votes: 1 up, 2 down\n  answered by the owner: 1970-01-01T00:00:02Z\n  hide \
             1970-01-01T00:00:01Z: spam\\u{d}\n  | one\n  | rp_0 hidden\\u{202e}\\u{1b}[31m\n  > mine\\u{1b}\n"
        );
        let reply = Some(Reply { text: None, replied_at: 2 });
        let content = NewReport { description: String::new(), ..report.content.clone() };
        let erased = paragraph(&Report { content, reply, erased_at: Some(3), ..report }, &[]);
        let end = "  texts erased: 1970-01-01T00:00:03Z\n  answered by the owner: 1970-01-01T00:00:02Z\n";
        assert!(erased.ends_with(end), "{erased}");
    }
}
