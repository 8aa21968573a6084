//! `cairn keys`: bridge keys and wallet sessions. The commands work while a server runs; both use the same database.

use std::io::{self, Write};

use cairn_clock::now_secs;
use cairn_state::{Key, KeyKind, KeyState, NewKey, Revocation, Secret, State};

use super::codes::codes;
use crate::{
    cli::{KeysCommand, KeysIssue, KeysRevoke},
    exit::{Exit, Failure},
    out::{print, table, time},
    with_state::with_state,
};

pub(crate) fn keys(command: &KeysCommand) -> Result<Exit, Failure> {
    match command {
        KeysCommand::Issue(args) => with_state(&args.at.url()?, async |state| issue(state, args).await),
        KeysCommand::List(at) => with_state(&at.url()?, async |state| {
            print(&listed(&state.keys().await?, now_secs()))?;
            Ok(Exit::Done)
        }),
        KeysCommand::Revoke(args) => with_state(&args.at.url()?, async |state| revoke(state, args).await),
        KeysCommand::Codes(args) => codes(&args.what),
    }
}

async fn issue(state: &State, args: &KeysIssue) -> Result<Exit, Failure> {
    let now = now_secs();
    let new = NewKey {
        kind: args.kind.into(),
        label: args.label.clone().unwrap_or_default(),
        expires_at: args.expires.map(|seconds| now.saturating_add(seconds)),
    };
    let (key, secret) = state.issue(new, now).await?;
    // Only the secret goes to standard output, so that scripts can read it.
    writeln!(io::stderr(), "{}", about(&key))?;
    print(&format!("{}\n", secret.expose()))?;
    Ok(Exit::Done)
}

fn about(key: &Key) -> String {
    let (what, header) = match key.kind {
        KeyKind::Bridge => ("key", "X-WR-API-Key: <key>"),
        KeyKind::Session => ("wallet session", "Authorization: Bearer <token>"),
    };
    let until = key.expires_at.map_or("until it is revoked".to_owned(), |end| format!("until {}", time(end)));
    format!(
        "Issued {what} {id}, valid {until}. Clients send it as `{header}`.\n\
         It cannot be shown again. To revoke it: `cairn keys revoke {id}`.",
        id = key.id
    )
}

/// Formats all keys as a table.
fn listed(keys: &[Key], now: u64) -> String {
    let or_dash = |at: Option<u64>| at.map_or("-".to_owned(), time);
    let rows: Vec<Vec<String>> = keys
        .iter()
        .map(|key| {
            let state = match key.state(now) {
                KeyState::Active => "active",
                KeyState::Expired => "expired",
                KeyState::Revoked => "revoked",
                KeyState::Suspended => "suspended",
            };
            vec![
                key.id.clone(),
                key.kind.name().to_owned(),
                state.to_owned(),
                format!("{}_…", key.begins_with()),
                time(key.created_at),
                key.expires_at.map_or("never".to_owned(), time),
                or_dash(key.revoked_at),
                or_dash(key.last_used_at),
                key.label.clone(),
            ]
        })
        .collect();
    table(&["id", "kind", "state", "begins with", "created", "expires", "revoked", "last used", "label"], &rows)
}

/// Returns the id in an operator's text: the id itself, the first characters of the secret as the list shows them, or a
/// whole leaked secret.
fn id_in(text: &str) -> String {
    if let Ok(secret) = text.parse::<Secret>() {
        return secret.id().to_owned();
    }
    let rest = text.strip_prefix("cairn_key_").or(text.strip_prefix("cairn_ses_")).unwrap_or(text);
    rest.split('_').next().unwrap_or(rest).to_owned()
}

async fn revoke(state: &State, args: &KeysRevoke) -> Result<Exit, Failure> {
    let id = id_in(&args.id);
    match state.revoke(&id, now_secs()).await? {
        Revocation::Done => {
            print(&format!("revoked {id}; a server that used it recently may accept it for another 30 seconds\n"))?;
        }
        Revocation::Before(at) => print(&format!("{id} was already revoked at {}\n", time(at)))?,
        // The text may be a mistyped secret: do not repeat it.
        Revocation::Unknown => {
            return Err(Failure::new(Exit::Other, "no such key or session").hint("`cairn keys list` shows the ids"));
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_what_is_at_hand() {
        for text in ["0123456789ab", "cairn_key_0123456789ab", "cairn_ses_0123456789ab_…", "cairn_key_0123456789ab_12"]
        {
            assert_eq!(id_in(text), "0123456789ab");
        }
    }

    #[test]
    fn the_list_shows_what_is_known() {
        let key = Key {
            id: "0123456789ab".to_owned(),
            kind: KeyKind::Session,
            label: "for Ann".to_owned(),
            created_at: 0,
            expires_at: Some(86_400),
            revoked_at: None,
            suspended_at: None,
            last_used_at: None,
        };
        let text = listed(std::slice::from_ref(&key), 1);
        let row = text.lines().nth(1).unwrap_or_default();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "0123456789ab session active cairn_ses_0123456789ab_… 1970-01-01T00:00:00Z 1970-01-02T00:00:00Z - - for Ann"
        );
        assert!(listed(&[key], 86_400).contains("expired"));
        assert_eq!(time(u64::MAX), "@18446744073709551615");
    }
}
