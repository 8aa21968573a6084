//! The calendar as the official client of OpenTimestamps (PyPI `opentimestamps-client`) uses it, up to a verified
//! proof. `OTS_EXE` names its program `ots`; `make interop` installs it.

use std::{
    env, fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use cairn_standin::{StandIn, StandInOptions};
use cairn_support::{Cast, Form, get_json};

use crate::CAIRN;

const WALLET: &str = "stamps";

/// The client for this calendar and this node, in a folder.
struct Ots<'a> {
    program: String,
    folder: &'a Path,
    calendar: String,
    node: String,
}

impl Ots<'_> {
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(&self.program);
        // The client compares this URL with that in a proof, byte by byte, so it has no slash at its end.
        let known = self.calendar.trim_end_matches('/');
        command.args(["--no-cache", "--btc-regtest", "--bitcoin-node", &self.node, "-l", known]);
        let Output { status, stdout, stderr } = command.args(arguments).current_dir(self.folder).output().unwrap();
        (status.success(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
    }

    fn succeeds(&self, arguments: &[&str], word: &str) {
        let (succeeded, said) = self.run(arguments);
        assert!(succeeded && said.contains(word), "{arguments:?}: {said}");
    }

    fn fails(&self, arguments: &[&str], word: &str) {
        let (succeeded, said) = self.run(arguments);
        assert!(!succeeded && said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn the_official_client_stamps_upgrades_and_verifies() {
    let Some(program) = env::var("OTS_EXE").ok().filter(|program| !program.is_empty()) else {
        cairn_testkit::skip!("OTS_EXE is not set");
    };
    let node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
    node.world().create_wallet(WALLET);
    node.world().fund_wallet(WALLET, 2, 100_000).unwrap();
    // The calendar's URL is in every proof, so its port has to be known before.
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let calendar = format!("http://{listen}");
    let wallet = format!("--timestamps-wallet {WALLET} --timestamps-interval 1");
    let calendar_arguments = format!("--calendar open --calendar-url {calendar} --listen {listen}");
    let mut cast = Cast::new(CAIRN, &node, Form::One).with(&format!("{wallet} {calendar_arguments}"), "");
    cast.start_all();
    let address = listen.to_string();

    let folder = tempfile::tempdir().unwrap();
    let cookie = fs::read_to_string(node.cookie_file()).unwrap();
    let node_url = node.url().replacen("http://", &format!("http://{}@", cookie.trim()), 1);
    let ots = Ots { program, folder: folder.path(), calendar: format!("{calendar}/"), node: node_url };
    for name in ["letter.txt", "other.txt"] {
        fs::write(folder.path().join(name), format!("the contents of {name}\n")).unwrap();
    }
    let from_here = ["upgrade", "-c", &ots.calendar, "letter.txt.ots"];
    cast.wait_until("a stamp", || ots.run(&["stamp", "-m", "1", "-c", &ots.calendar, "letter.txt", "other.txt"]).0);
    ots.fails(&from_here, "Timestamp not complete");
    cast.wait_until("the transaction", || !node.world().pool_txids().is_empty());
    ots.fails(&from_here, "Timestamp not complete");
    node.world().mine(1).unwrap();
    cast.wait_until("the block", || get_json(&address, "/v1/network/summary")["height"] == 107);
    // A proof that a reorganization can take back is not handed out: clients never ask again.
    ots.fails(&from_here, "waiting for 6 confirmations");
    node.world().mine(5).unwrap();
    cast.wait_until("the sixth block", || ots.run(&from_here).0);
    ots.succeeds(&["verify", "letter.txt.ots"], "Success! Bitcoin block 107 attests existence");
    // The one that was not upgraded asks the calendar by its URL.
    ots.succeeds(&["verify", "other.txt.ots"], "Success! Bitcoin block 107 attests existence");
    ots.fails(&["verify", "-f", "other.txt", "letter.txt.ots"], "does not match");
    cast.end_writer("TERM");
}
