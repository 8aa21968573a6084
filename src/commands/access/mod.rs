//! `cairn access`: sold calls. The commands work while a server runs; both use the same database.

mod outcomes;
mod pay;
mod reconcile;
mod report;

use cairn_clock::now_secs;
use cairn_state::{ReopenedChallenge, Reopening, State, StateError};

use crate::{
    cli::{AccessCommand, AccessReopen, ListFormat},
    exit::{Exit, Failure},
    out::{csv, harmless, print, table, time},
    with_state::with_state,
};

pub(crate) fn access(command: &AccessCommand) -> Result<Exit, Failure> {
    match command {
        AccessCommand::Report(args) => with_state(&args.at.url()?, async |state| report::report(state, args).await),
        AccessCommand::Reopen(args) => with_state(&args.at.url()?, async |state| reopen(state, args).await),
        AccessCommand::Reopened(args) => with_state(&args.at.url()?, async |state| {
            // Reads one more than it prints, to know if there are more.
            let challenges = state.reopened_challenges(args.limit.saturating_add(1)).await?;
            print(&listed(&challenges, args.limit))?;
            Ok(Exit::Done)
        }),
        AccessCommand::Reconcile(args) => reconcile::reconcile(args),
        AccessCommand::Unknown(args) => with_state(&args.at.url()?, async |state| outcomes::unknown(state, args).await),
        AccessCommand::Conclude(args) => {
            with_state(&args.at.url()?, async |state| outcomes::conclude(state, args).await)
        }
        AccessCommand::Pay(args) => pay::pay(args),
    }
}

fn laid_out(format: ListFormat, header: &[&str], rows: &[Vec<String>]) -> String {
    match format {
        ListFormat::Table => table(header, rows),
        ListFormat::Csv => csv(header, rows),
    }
}

async fn reopen(state: &State, args: &AccessReopen) -> Result<Exit, Failure> {
    let id = &args.challenge;
    let reopened = state.reopen_challenge(id, &args.reason, now_secs()).await.map_err(|error| match error {
        StateError::Sale => Failure::usage("--reason cannot be stored")
            .hint("a reason has 1 to 500 characters, and no control characters"),
        other => other.into(),
    })?;
    match reopened {
        Reopening::Done { until } => {
            print(&format!("{id} can be redeemed once more until {}, with the same credential\n", time(until)))?;
            Ok(Exit::Done)
        }
        Reopening::NotRedeemed => Err(Failure::new(Exit::Other, format!("challenge {id} was not redeemed"))
            .hint("there is nothing to open: its client redeems it by repeating the request, while its time lasts")),
        Reopening::Before(at) => {
            let message = format!("challenge {id} was opened again at {}; that is possible once", time(at));
            Err(Failure::new(Exit::Other, message).hint("give the client a code instead: `cairn keys codes issue`"))
        }
        Reopening::Unknown => Err(Failure::new(Exit::Other, format!("there is no challenge {id:?}"))
            .hint("the 402 answer that its client was given has the id, which begins with ch_")),
    }
}

/// Formats the first `limit` challenges that were opened again.
fn listed(challenges: &[ReopenedChallenge], limit: u32) -> String {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let row = |of: &ReopenedChallenge| {
        vec![of.challenge_id.clone(), time(of.redeemed_at), time(of.reopened_at), harmless(&of.reason)]
    };
    let rows: Vec<Vec<String>> = challenges.iter().take(limit).map(row).collect();
    let mut text = table(&["challenge", "redeemed", "opened again", "reason"], &rows);
    if challenges.len() > limit {
        text += &format!("There are more than {limit}: see --limit.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_reasons_harmlessly() {
        let challenge = ReopenedChallenge {
            challenge_id: "ch_1".to_owned(),
            reason: "lost\u{1b}[31m".to_owned(),
            redeemed_at: 0,
            reopened_at: 60,
        };
        let text = listed(&[challenge.clone(), challenge], 1);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>().join(" "),
            "ch_1 1970-01-01T00:00:00Z 1970-01-01T00:01:00Z lost\\u{1b}[31m"
        );
        assert_eq!(lines[2], "There are more than 1: see --limit.");
    }
}
