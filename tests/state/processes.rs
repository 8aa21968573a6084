//! Several processes at one database: the server, and `cairn keys` beside it.

use std::{env, process::Command, str::FromStr};

use cairn_state::{KeyKind, Revocation, State, StateUrl, Verdict};

use crate::{
    both::new_key,
    database::{POSTGRES, TestDatabase},
};

/// Names the database in the other process.
const CHILD: &str = "CAIRN_STATE_TEST_CHILD";
/// Keys that each issues.
const EACH: u64 = 25;

async fn work(url: &str) {
    let state = State::open(&StateUrl::from_str(url).unwrap()).await.unwrap();
    for now in 0..EACH {
        let (key, secret) = state.issue(new_key(KeyKind::Session, None), now).await.unwrap();
        assert!(matches!(state.check(&secret, now).await.unwrap(), Verdict::Valid(_)));
        if now % 2 == 0 {
            assert_eq!(state.revoke(&key.id, now).await.unwrap(), Revocation::Done);
            assert_eq!(state.check(&secret, now).await.unwrap(), Verdict::Revoked);
        }
    }
    state.close().await;
}

/// Runs the work of the other process; as a test of its own, does nothing.
#[tokio::test]
async fn the_other_process() {
    if let Ok(url) = env::var(CHILD) {
        work(&url).await;
    }
}

async fn two_processes(database: &TestDatabase) {
    let url = database.url();
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", "processes::the_other_process", "--nocapture"]).env(CHILD, &url).spawn().unwrap()
        })
        .collect();
    // From an empty database on: the schema too is made by whoever comes first.
    work(&url).await;
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let keys = database.open().await.keys().await.unwrap();
    assert_eq!(keys.len() as u64, 3 * EACH);
    assert_eq!(keys.iter().filter(|key| key.revoked_at.is_some()).count() as u64, 3 * EACH.div_ceil(2));
}

#[tokio::test]
async fn two_processes_at_one_sqlite_file() {
    two_processes(&TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn two_processes_at_one_postgres_schema() {
    let Some(database) = TestDatabase::postgres().await else {
        cairn_testkit::skip!("no PostgreSQL server ({POSTGRES})")
    };
    two_processes(&database).await;
    database.remove().await;
}
