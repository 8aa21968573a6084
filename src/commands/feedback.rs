//! `cairn feedback`: tickets that clients opened. It also works while a server uses the same database.

use cairn_clock::now_secs;
use cairn_state::{Closing, State, Ticket};

use crate::{
    cli::{FeedbackCommand, FeedbackResolve},
    exit::{Exit, Failure},
    out::{harmless, print, time},
    with_state::with_state,
};

pub(crate) fn feedback(command: &FeedbackCommand) -> Result<Exit, Failure> {
    match command {
        FeedbackCommand::List(args) => with_state(&args.state.url(&args.index)?, async |state| {
            // Reads one more than it prints, to know if there are more.
            let tickets = state.tickets(args.only.into(), args.limit.saturating_add(1)).await?;
            print(&listed(&tickets, args.limit))?;
            Ok(Exit::Done)
        }),
        FeedbackCommand::Resolve(args) => {
            with_state(&args.state.url(&args.index)?, async |state| resolve(state, args).await)
        }
    }
}

/// Formats the first `limit` tickets, one paragraph each.
fn listed(tickets: &[Ticket], limit: u32) -> String {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let paragraphs: Vec<String> = tickets.iter().take(limit).map(paragraph).collect();
    let mut text = paragraphs.join("\n");
    if tickets.len() > limit {
        text += &format!("\nThere are more than {limit}: see --limit.\n");
    }
    text
}

fn paragraph(ticket: &Ticket) -> String {
    let feedback = &ticket.feedback;
    let mut text =
        format!("{} {} {} {}\n", ticket.id, ticket.state.name(), feedback.kind.name(), time(ticket.created_at));
    let closed = ticket.closed_at.map(time);
    let signed = feedback.is_signed.then(|| "by the key of the address".to_owned());
    let members = [
        ("address", &feedback.address),
        ("suggested label", &feedback.suggested_label),
        ("suggested category", &feedback.suggested_category),
        ("source", &feedback.source_url),
        ("claim", &feedback.claim_id),
        ("signed", &signed),
        ("closed", &closed),
        ("note", &ticket.note),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            text += &format!("  {name}: {}\n", harmless(value));
        }
    }
    for line in feedback.message.lines() {
        text += &format!("  | {}\n", harmless(line));
    }
    text
}

async fn resolve(state: &State, args: &FeedbackResolve) -> Result<Exit, Failure> {
    let (id, word) = (&args.id, if args.reject { "rejected" } else { "resolved" });
    match state.close_ticket(id, !args.reject, args.note.as_deref(), now_secs()).await? {
        Closing::Done => print(&format!("{word} {id}\n"))?,
        Closing::Before(state) => {
            return Err(Failure::new(Exit::Other, format!("ticket {id} is already {}", state.name())));
        }
        Closing::Unknown => {
            let hint = "`cairn feedback list --only all` prints the ids";
            return Err(Failure::new(Exit::Other, format!("there is no ticket {id:?}")).hint(hint));
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use cairn_state::{NewTicket, TicketKind, TicketState};

    use super::*;

    fn ticket(message: &str) -> Ticket {
        let feedback = NewTicket {
            kind: TicketKind::DataQuality,
            address: None,
            message: message.to_owned(),
            suggested_label: Some("A\u{202e}B".to_owned()),
            suggested_category: None,
            source_url: None,
            claim_id: None,
            is_signed: false,
        };
        let id = "fb_0123456789abcdef".to_owned();
        Ticket { id, feedback, state: TicketState::Open, created_at: 0, closed_at: None, note: None }
    }

    #[test]
    fn texts_of_strangers_are_harmless() {
        let text = paragraph(&ticket("one\ttwo\nfb_0000000000000000 open\r\u{1b}[31mred"));
        assert_eq!(
            text,
            "fb_0123456789abcdef open data_quality 1970-01-01T00:00:00Z\n  suggested label: A\\u{202e}B\n  | one two\n  \
             | fb_0000000000000000 open\\u{d}\\u{1b}[31mred\n"
        );
    }

    #[test]
    fn the_limit_is_told() {
        let two = [ticket("a"), ticket("b")];
        assert!(listed(&two, 1).ends_with("\nThere are more than 1: see --limit.\n"));
        assert!(!listed(&two, 2).contains("more than"));
        assert_eq!(listed(&[], 5), "");
    }
}
