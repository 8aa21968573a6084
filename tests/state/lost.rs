//! A SQLite database that is gone, emptied, older or another one is reported, and never taken for a new one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_state::{FileMismatch, KeyKind, Revocation, State, StateError, StateUrl, Verdict, accept, backup, check};

use crate::both::new_key;

struct Used {
    folder: tempfile::TempDir,
    url: StateUrl,
    file: PathBuf,
}

/// A database with a key, closed; and its secret.
async fn used() -> (Used, cairn_state::Secret) {
    let folder = cairn_testkit::temp_dir();
    let url = StateUrl::in_folder(folder.path());
    let file = folder.path().join("state.sqlite");
    let state = State::open(&url).await.unwrap();
    let (_, secret) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    state.close().await;
    (Used { folder, url, file }, secret)
}

#[track_caller]
fn lost(error: StateError) -> FileMismatch {
    assert!(error.may_pass(), "a server starts, and serves what needs no database: {error}");
    let text = error.to_string();
    assert!(text.contains("state.sqlite") && text.contains("state.sqlite.mark"), "{text}");
    let StateError::Lost { what, .. } = error else { panic!("{error}") };
    what
}

fn side_files(file: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", file.display())))
}

#[tokio::test]
async fn a_missing_or_emptied_file_is_no_new_database() {
    for emptied in [false, true] {
        let (Used { folder, url, file }, secret) = used().await;
        let copy = folder.path().join("copy");
        fs::copy(&file, &copy).unwrap();
        if emptied {
            fs::write(&file, "").unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        let expected = if emptied { FileMismatch::Empty } else { FileMismatch::Missing };
        assert_eq!(lost(State::open(&url).await.unwrap_err()), expected);
        assert_eq!(lost(check(&url).await.unwrap_err()), expected);
        assert_eq!(lost(backup(&url, &folder.path().join("other"), false).await.unwrap_err()), expected);
        let server = State::of(&url);
        assert_eq!(lost(server.probe().await.unwrap_err()), expected);
        assert_eq!(lost(server.issue(new_key(KeyKind::Bridge, None), 1_001).await.unwrap_err()), expected);
        assert_eq!(lost(accept(&url, false).await.unwrap_err()), expected);
        assert_eq!((file.exists(), folder.path().join("other").exists()), (emptied, false), "nothing was made");
        // Put back: the same server goes on.
        fs::copy(&copy, &file).unwrap();
        assert!(matches!(server.check(&secret, 1_002).await.unwrap(), Verdict::Valid(_)));
        server.close().await;
        // Or a new one is begun, if the operator says so.
        assert!(matches!(accept(&url, true).await.unwrap_err(), StateError::Exists(_)));
        fs::remove_file(&file).unwrap();
        accept(&url, true).await.unwrap();
        let state = State::open(&url).await.unwrap();
        assert_eq!(state.keys().await.unwrap(), []);
        state.close().await;
    }
}

#[tokio::test]
async fn a_file_that_goes_under_a_server_is_told() {
    for emptied in [false, true] {
        let (Used { folder, url, file }, secret) = used().await;
        let server = State::open(&url).await.unwrap();
        let copy = folder.path().join("copy");
        backup(&url, &copy, false).await.unwrap();
        if emptied {
            fs::File::options().write(true).truncate(true).open(&file).map(drop).unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        let expected = if emptied { FileMismatch::Empty } else { FileMismatch::Missing };
        assert_eq!(lost(server.issue(new_key(KeyKind::Bridge, None), 1_001).await.unwrap_err()), expected);
        assert_eq!(lost(server.probe().await.unwrap_err()), expected);
        // As an operator puts back a file: under another name first.
        side_files(&file).iter().for_each(|side| drop(fs::remove_file(side)));
        fs::rename(&copy, &file).unwrap();
        server.probe().await.unwrap();
        assert!(matches!(server.check(&secret, 1_002).await.unwrap(), Verdict::Valid(_)));
    }
}

#[tokio::test]
async fn an_older_copy_is_told_and_used_if_the_operator_says_so() {
    let (Used { folder, url, file }, secret) = used().await;
    let copy = folder.path().join("copy");
    backup(&url, &copy, false).await.unwrap();
    let state = State::open(&url).await.unwrap();
    assert_eq!(state.revoke(secret.id(), 1_001).await.unwrap(), Revocation::Done);
    state.close().await;
    fs::copy(&copy, &file).unwrap();
    assert_eq!(lost(State::open(&url).await.unwrap_err()), FileMismatch::Older { changes: 1 });
    let found = check(&url).await.unwrap();
    assert!(found.problems[0].contains("older copy") && found.problems[0].contains("revoked"), "{found:?}");
    assert!(matches!(accept(&url, true).await.unwrap_err(), StateError::Exists(_)), "there is a database");
    accept(&url, false).await.unwrap();
    assert_eq!(check(&url).await.unwrap().problems, Vec::<String>::new());
    let state = State::open(&url).await.unwrap();
    assert!(matches!(state.check(&secret, 1_002).await.unwrap(), Verdict::Valid(_)));
    state.close().await;
}

/// Changes that a killed server leaves in the log of SQLite belong to the database.
#[tokio::test]
async fn a_log_that_is_gone_is_an_older_copy() {
    let (Used { folder, url, .. }, secret) = used().await;
    let state = State::open(&url).await.unwrap();
    state.revoke(secret.id(), 1_001).await.unwrap();
    // As a kill leaves the files.
    let killed = cairn_testkit::temp_dir();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, killed.path().join(path.file_name().unwrap())).unwrap();
    }
    let url = StateUrl::in_folder(killed.path());
    let [log, _] = side_files(&killed.path().join("state.sqlite"));
    let whole = fs::read(&log).unwrap();
    assert!(!whole.is_empty());
    for cut in [None, Some(0), Some(whole.len() / 2)] {
        match cut {
            None => fs::remove_file(&log).unwrap(),
            Some(bytes) => fs::write(&log, &whole[..bytes]).unwrap(),
        }
        assert_eq!(lost(State::open(&url).await.unwrap_err()), FileMismatch::Older { changes: 1 }, "{cut:?}");
        let folder = killed.path();
        for name in ["state.sqlite", "state.sqlite-wal", "state.sqlite-shm"] {
            let _ = fs::remove_file(folder.join(name));
        }
        fs::copy(state_file(&state), folder.join("state.sqlite")).unwrap();
    }
    fs::write(&log, &whole).unwrap();
    let again = State::open(&url).await.unwrap();
    assert_eq!(again.check(&secret, 1_002).await.unwrap(), Verdict::Revoked);
}

fn state_file(state: &State) -> PathBuf {
    let shown = format!("{state:?}");
    PathBuf::from(shown.trim_start_matches("State(sqlite:").trim_end_matches(')'))
}

#[tokio::test]
async fn another_database_is_told() {
    let (one, _) = used().await;
    let (other, _) = used().await;
    fs::copy(&other.file, &one.file).unwrap();
    assert_eq!(lost(State::open(&one.url).await.unwrap_err()), FileMismatch::Unknown);
    accept(&one.url, false).await.unwrap();
    State::open(&one.url).await.unwrap().close().await;
    // Without a mark, any database is taken as it is: an earlier program has made none.
    fs::remove_file(format!("{}.mark", other.file.display())).unwrap();
    State::open(&other.url).await.unwrap().close().await;
    fs::remove_file(&other.file).unwrap();
    assert_eq!(lost(State::open(&other.url).await.unwrap_err()), FileMismatch::Missing);
}

#[tokio::test]
async fn a_mark_that_is_damaged_still_tells_that_there_was_a_database() {
    let (Used { folder, url, file }, _) = used().await;
    let mark = folder.path().join("state.sqlite.mark");
    let whole = fs::read(&mark).unwrap();
    fs::write(&mark, "").unwrap();
    fs::rename(&file, folder.path().join("away")).unwrap();
    assert_eq!(lost(State::open(&url).await.unwrap_err()), FileMismatch::Missing);
    fs::rename(folder.path().join("away"), &file).unwrap();
    State::open(&url).await.unwrap().close().await;
    assert_eq!(fs::read(&mark).unwrap(), whole, "it is written again");
}

#[tokio::test]
async fn a_row_that_a_disk_has_changed_is_told() {
    let (Used { folder: _folder, url, file }, _) = used().await;
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(7).position(|seven| seven == b"a label").expect("the label of the key");
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let found = check(&url).await.unwrap();
    assert!(found.problems.iter().any(|problem| problem.contains("last closed")), "{found:?}");
}
