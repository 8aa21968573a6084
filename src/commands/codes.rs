//! `cairn keys codes`: codes that clients redeem for a key with POST /v1/billing/redeem. The commands work while a
//! server runs; both use the same database.

use std::io::{self, Write};

use cairn_clock::now_secs;
use cairn_state::{Code, CodeState, NewCode, Revocation, State};

use crate::{
    cli::{CodesCommand, CodesIssue, CodesRevoke},
    exit::{Exit, Failure},
    out::{print, table, time},
    with_state::with_state,
};

pub(super) fn codes(command: &CodesCommand) -> Result<Exit, Failure> {
    match command {
        CodesCommand::Issue(args) => with_state(&args.at.url()?, async |state| issue(state, args).await),
        CodesCommand::List(at) => with_state(&at.url()?, async |state| {
            print(&listed(&state.codes().await?, now_secs()))?;
            Ok(Exit::Done)
        }),
        CodesCommand::Revoke(args) => with_state(&args.at.url()?, async |state| revoke(state, args).await),
    }
}

async fn issue(state: &State, args: &CodesIssue) -> Result<Exit, Failure> {
    let now = now_secs();
    let new = NewCode {
        kind: args.kind.into(),
        label: args.label.clone().unwrap_or_default(),
        valid_secs: args.valid,
        expires_at: now.saturating_add(args.expires),
    };
    let (code, secret) = state.issue_code(new, now).await?;
    // Only the secret goes to standard output, so that scripts can read it.
    writeln!(io::stderr(), "{}", about(&code))?;
    print(&format!("{}\n", secret.expose()))?;
    Ok(Exit::Done)
}

fn about(code: &Code) -> String {
    format!(
        "Issued code {id}, to be redeemed until {end} by POST /v1/billing/redeem.\n\
         It cannot be shown again. To revoke it: `cairn keys codes revoke {id}`.",
        id = code.id,
        end = time(code.expires_at)
    )
}

/// Formats all codes as a table.
fn listed(codes: &[Code], now: u64) -> String {
    let or_dash = |at: Option<u64>| at.map_or("-".to_owned(), time);
    let rows: Vec<Vec<String>> = codes
        .iter()
        .map(|code| {
            let state = match code.state(now) {
                CodeState::Open => "open",
                CodeState::Redeemed => "redeemed",
                CodeState::Revoked => "revoked",
                CodeState::Expired => "expired",
            };
            let redeemed = code.redeemed.as_ref();
            vec![
                code.id.clone(),
                code.kind.name().to_owned(),
                state.to_owned(),
                time(code.created_at),
                time(code.expires_at),
                or_dash(code.revoked_at),
                or_dash(redeemed.map(|(at, _)| *at)),
                redeemed.map_or("-".to_owned(), |(_, key)| key.clone()),
                code.label.clone(),
            ]
        })
        .collect();
    table(&["id", "gives", "state", "created", "expires", "revoked", "redeemed", "key", "label"], &rows)
}

/// Returns the id in an operator's text: the id itself, the beginning of the code, or a whole leaked code.
fn id_in(text: &str) -> &str {
    let rest = text.strip_prefix("cairn_code_").unwrap_or(text);
    rest.split('_').next().unwrap_or(rest)
}

async fn revoke(state: &State, args: &CodesRevoke) -> Result<Exit, Failure> {
    let id = id_in(&args.id);
    match state.revoke_code(id, now_secs()).await? {
        Ok(Revocation::Done) => print(&format!("revoked {id}\n"))?,
        Ok(Revocation::Before(at)) => print(&format!("{id} was already revoked at {}\n", time(at)))?,
        // The text may be a mistyped code: do not repeat it.
        Ok(Revocation::Unknown) => {
            return Err(Failure::new(Exit::Other, "no such code").hint("`cairn keys codes list` shows the ids"));
        }
        Err(code) => {
            let key = code.redeemed.map(|(_, key)| key).unwrap_or_default();
            return Err(Failure::new(Exit::Other, format!("code {id} is redeemed: it gave key {key}"))
                .hint(format!("to revoke the key: cairn keys revoke {key}")));
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use cairn_state::KeyKind;

    use super::*;

    #[test]
    fn ids_are_found_in_what_is_at_hand() {
        for text in ["0123456789ab", "cairn_code_0123456789ab", "cairn_code_0123456789ab_…"] {
            assert_eq!(id_in(text), "0123456789ab");
        }
    }

    #[test]
    fn the_list_shows_what_is_known() {
        let code = Code {
            id: "0123456789ab".to_owned(),
            kind: KeyKind::Bridge,
            label: "for Ann".to_owned(),
            valid_secs: 60,
            created_at: 0,
            expires_at: 86_400,
            revoked_at: None,
            redeemed: Some((60, "ba9876543210".to_owned())),
        };
        let row_of = |code: Code| {
            let text = listed(&[code], 86_400);
            let row = text.lines().nth(1).unwrap_or_default();
            row.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row_of(code.clone()),
            "0123456789ab key redeemed 1970-01-01T00:00:00Z 1970-01-02T00:00:00Z - 1970-01-01T00:01:00Z ba9876543210 for Ann"
        );
        assert!(row_of(Code { redeemed: None, ..code }).starts_with("0123456789ab key expired "));
    }
}
