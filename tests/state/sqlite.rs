//! Tests of the database as a file.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use cairn_state::{KeyKind, State, StateError, StateUrl, Verdict};

use crate::{both::new_key, database::TestDatabase};

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// All bytes of the files in a folder.
fn bytes_in(folder: &Path) -> Vec<u8> {
    fs::read_dir(folder).unwrap().flat_map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[tokio::test]
async fn secrets_are_nowhere_in_the_files() {
    let folder = cairn_testkit::temp_dir();
    let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
    let (key, secret) = state.issue(new_key(KeyKind::Session, None), 1_000).await.unwrap();
    state.check(&secret, 2_000).await.unwrap();
    let text = secret.expose().to_owned();
    let random = hex::decode(&text[23..87]).unwrap();
    for closed in [false, true] {
        let files = bytes_in(folder.path());
        // The search finds what is there.
        assert!(holds(&files, key.id.as_bytes()) && holds(&files, hex::encode(secret.sha256()).as_bytes()));
        assert!(!holds(&files, &random) && !holds(&files, &random[..8]));
        assert!(!holds(&files, &text.as_bytes()[23..]) && !holds(&files, &text.as_bytes()[23..39]));
        if !closed {
            state.close().await;
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = cairn_testkit::temp_dir();
    let url = StateUrl::in_folder(folder.path());
    let state = State::open(&url).await.unwrap();
    state.issue(new_key(KeyKind::Bridge, None), 1).await.unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
        seen += 1;
    }
    assert_eq!(seen, 4, "the file, its log and its index, and what remembers it");
    state.close().await;
    // An operator who widens them meant it.
    let file = folder.path().join("state.sqlite");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    State::open(&url).await.unwrap().close().await;
    assert_eq!(mode(&file), 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the side files go with the last connection");
}

#[tokio::test]
async fn what_is_in_the_way_is_named() {
    let folder = cairn_testkit::temp_dir();
    let missing = State::open(&StateUrl::in_folder(&folder.path().join("nowhere"))).await.unwrap_err();
    assert!(matches!(missing, StateError::File { .. }) && missing.to_string().contains("nowhere"), "{missing}");
    let text = "no database, but long enough to be looked at closely".repeat(40);
    fs::write(folder.path().join("state.sqlite"), &text).unwrap();
    let other = State::open(&StateUrl::in_folder(folder.path())).await.unwrap_err();
    assert!(other.to_string().contains("not a database"), "{other}");
    assert_eq!(fs::read(folder.path().join("state.sqlite")).unwrap(), text.as_bytes(), "left as it was");
}

#[tokio::test]
async fn an_odd_path_is_taken_as_it_is() {
    let folder = cairn_testkit::temp_dir();
    let odd = folder.path().join("a b#%20é'");
    fs::create_dir(&odd).unwrap();
    let state = State::open(&StateUrl::in_folder(&odd)).await.unwrap();
    state.issue(new_key(KeyKind::Bridge, None), 1).await.unwrap();
    assert!(odd.join("state.sqlite").exists());
    assert_eq!(TestDatabase::sqlite().open().await.keys().await.unwrap(), []);
}

/// The bookkeeping of uses waits for the lock; those who present keys do not.
#[tokio::test]
async fn a_busy_writer_delays_no_check() {
    let database = TestDatabase::sqlite();
    let state = database.open().await;
    let mut secrets = Vec::new();
    for _ in 0..20 {
        secrets.push(state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap().1);
    }
    let mut writer = database.sqlite_connection().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut writer).await.unwrap();
    // Statements that write wait as well, as many as there are connections and more.
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let state = state.clone();
            tokio::spawn(async move { state.issue(new_key(KeyKind::Session, None), 1_500).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let started = Instant::now();
    for secret in &secrets {
        assert!(matches!(state.check(secret, 2_000).await.unwrap(), Verdict::Valid(_)));
    }
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    sqlx::raw_sql("ROLLBACK").execute(&mut writer).await.unwrap();
    for one in waiting {
        one.await.unwrap().unwrap();
    }
    // Nothing was given up: the writer was busy for less than a statement waits.
    state.uses_settled().await;
    let keys = state.keys().await.unwrap();
    assert_eq!(keys.iter().filter(|key| key.last_used_at == Some(2_000)).count(), secrets.len());
}
