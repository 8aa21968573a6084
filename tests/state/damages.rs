//! Random damages to a SQLite database, its log and its mark: each is harmless, or reported. Reported damage is mended
//! by putting back a backup.

use std::{fs, path::Path};

use cairn_state::{Approver, KeyKind, NewTicket, SeenRow, State, StateUrl, Ticket, TicketKind, check};

use crate::both::new_key;

const DAMAGES: u64 = 80;

/// Numbers from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// The content of the database for those who use it.
#[derive(PartialEq, Debug)]
struct Rows {
    keys: Vec<(String, String, Option<u64>)>,
    tickets: Vec<Ticket>,
    approvals: usize,
}

async fn rows(state: &State) -> Result<Rows, cairn_state::StateError> {
    let approvals = state.approvals().await?;
    let given = |number: u64| approvals.of_party("a/list", &[number as u8; 32], &number.to_string(), "somebody").len();
    Ok(Rows {
        keys: state.keys().await?.into_iter().map(|key| (key.id, key.label, key.revoked_at)).collect(),
        tickets: state.tickets(None, 1_000).await?,
        approvals: (0..30).map(given).sum(),
    })
}

async fn fill(state: &State, from: u64, to: u64) {
    for number in from..to {
        let (key, _) = state.issue(new_key(KeyKind::Bridge, None), number).await.unwrap();
        if number % 3 == 0 {
            state.revoke(&key.id, number + 1).await.unwrap();
        }
        let ticket = NewTicket {
            kind: TicketKind::General,
            address: None,
            message: format!("message {number}"),
            suggested_label: None,
            suggested_category: None,
            source_url: None,
            claim_id: None,
            is_signed: false,
        };
        state.submit(ticket, None, number).await.unwrap();
        let row = SeenRow {
            script: [number as u8; 32],
            party_uid: number.to_string(),
            party_name: "somebody".to_owned(),
            address: "an address".to_owned(),
        };
        let approver: Approver = "ann".parse().unwrap();
        state.approve("a/list", &[row], &[7; 32], &approver, number).await.unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let path = file.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Damages one of the files. Says what it did.
fn damage(dir: &Path, old: &Path, files: &[&str], random: &mut Random) -> String {
    let name = files[random.below(files.len())];
    let path = dir.join(name);
    let mut bytes = fs::read(&path).unwrap();
    let at = random.below(bytes.len().max(1));
    let how = match random.below(5) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            format!("a bit of byte {at}")
        }
        1 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        2 => {
            bytes.clear();
            "emptied".to_owned()
        }
        3 if old.join(name).exists() => {
            bytes = fs::read(old.join(name)).unwrap();
            "an older copy".to_owned()
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return format!("{name}: removed");
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{name}: {how}")
}

#[tokio::test]
async fn no_damage_of_the_database_is_silent() {
    let [made, old, closed, killed, dir] = [(); 5].map(|()| cairn_testkit::temp_dir());
    let url = |folder: &Path| StateUrl::in_folder(folder);
    let state = State::open(&url(made.path())).await.unwrap();
    fill(&state, 0, 20).await;
    state.close().await;
    copy(made.path(), old.path());
    let state = State::open(&url(made.path())).await.unwrap();
    fill(&state, 20, 30).await;
    let expected = rows(&state).await.unwrap();
    // As a server that is killed leaves it: the last rows are in the log.
    copy(made.path(), killed.path());
    state.close().await;
    copy(made.path(), closed.path());
    let (mut quiet, mut told) = (0, 0);
    for seed in 0..DAMAGES {
        let random = &mut Random(seed);
        // SQLite has no checksums outside of its log: rows are compared with those of the last stop.
        let (from, files): (&Path, &[&str]) = match seed % 3 {
            0 => (killed.path(), &["state.sqlite-wal", "state.sqlite-shm", "state.sqlite.mark"]),
            _ => (closed.path(), &["state.sqlite", "state.sqlite", "state.sqlite", "state.sqlite.mark"]),
        };
        copy(from, dir.path());
        let what = format!("seed {seed}: {}", damage(dir.path(), old.path(), files, random));
        let url = url(dir.path());
        let checked = check(&url).await;
        let opened = State::open(&url).await;
        let found = match &opened {
            Ok(state) => rows(state).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Ok(state) = opened {
            state.close().await;
        }
        if let Ok(found) = found
            && checked.is_ok_and(|checked| checked.problems.is_empty())
        {
            assert_eq!(found, expected, "{what}: silent");
            quiet += 1;
            continue;
        }
        told += 1;
        // A backup is put back, without what is beside it.
        for name in ["state.sqlite", "state.sqlite-wal", "state.sqlite-shm"] {
            let _ = fs::remove_file(dir.path().join(name));
        }
        fs::copy(closed.path().join("state.sqlite"), dir.path().join("state.sqlite")).unwrap();
        let state = State::open(&url).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(rows(&state).await.unwrap(), expected, "{what}");
        state.close().await;
    }
    println!("{quiet} harmless, {told} told");
    assert!(told > 30 && quiet > 5, "{quiet} {told}");
}
