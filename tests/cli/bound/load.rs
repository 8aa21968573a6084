//! Load for a server: many clients that ask at random, and some that behave badly.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use bitcoin::{Block, Network, consensus::deserialize};
use cairn_chaingen::{
    corefiles::{FileOptions, Writer},
    mainnet::{MainnetOptions, mainnet_blocks},
};
use sha2::{Digest, Sha256};

/// One of this many blocks is sampled, and one of this many of its outputs and transactions.
const SAMPLE: (u32, usize) = (2, 41);

/// Scripts and transactions to ask for.
pub(super) struct Targets {
    pub(super) scripts: Vec<String>,
    pub(super) txids: Vec<String>,
}

/// Writes a chain of the main network's shape, and samples it.
pub(super) fn write_chain(folder: &Path, bytes: u64) -> Targets {
    let mut targets = Targets { scripts: Vec::new(), txids: Vec::new() };
    let options = MainnetOptions { empty_blocks: 10, ..MainnetOptions::new(5, bytes) };
    let mut writer = Writer::create(folder, FileOptions::new(Network::Regtest, [8, 7, 6, 5, 4, 3, 2, 1])).unwrap();
    mainnet_blocks(&options, |raw| {
        let place = writer.block(raw.block)?;
        if let Some(undo) = raw.undo {
            writer.undo(place.file, &raw.previous, undo)?;
        }
        if raw.height % SAMPLE.0 == 0 {
            let block: Block = deserialize(raw.block).unwrap();
            let outputs = block.txdata.iter().flat_map(|tx| &tx.output).filter(|out| !out.script_pubkey.is_op_return());
            let scripts =
                outputs.step_by(SAMPLE.1).map(|out| hex::encode(Sha256::digest(out.script_pubkey.as_bytes())));
            targets.scripts.extend(scripts);
            targets.txids.extend(block.txdata.iter().step_by(SAMPLE.1).map(|tx| tx.compute_txid().to_string()));
        }
        Ok(())
    })
    .unwrap();
    writer.finish().unwrap();
    targets
}

impl Targets {
    /// From a file that [`Targets::write`] made.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let (scripts, txids) = text.split_once("\n\n")?;
        let list = |text: &str| text.lines().map(str::to_owned).collect();
        Some(Targets { scripts: list(scripts), txids: list(txids) })
    }

    pub(super) fn write(&self, path: &Path) {
        fs::write(path, format!("{}\n\n{}", self.scripts.join("\n"), self.txids.join("\n"))).unwrap();
    }
}

/// Kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Overview,
    Page,
    Transaction,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Overview, Kind::Page, Kind::Transaction];
}

/// Numbers that look random, the same in each run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

pub(super) fn path(kind: Kind, targets: &Targets, dice: &mut Dice) -> String {
    match kind {
        Kind::Overview => {
            format!("/v1/wallets/scripthash:{}/overview", targets.scripts[dice.below(targets.scripts.len())])
        }
        Kind::Page => {
            let script = &targets.scripts[dice.below(targets.scripts.len())];
            format!("/v1/wallets/scripthash:{script}/transactions?limit=25")
        }
        Kind::Transaction => format!("/v1/tx/{}", targets.txids[dice.below(targets.txids.len())]),
    }
}

/// A connection that is kept.
pub(super) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) fn to(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    /// Asks, and returns the status once the whole answer has come.
    pub(super) fn get(&mut self, path: &str) -> u16 {
        write!(self.stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        self.buffer.clear();
        let head = loop {
            self.more(path);
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.buffer[..head]).unwrap().to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let (length, status) = (length.trim().parse::<usize>().unwrap(), text[9..12].parse().unwrap());
        while self.buffer.len() < head + length {
            self.more(path);
        }
        status
    }

    fn more(&mut self, path: &str) {
        let mut part = [0; 16 << 10];
        let n = self.stream.read(&mut part).unwrap();
        assert!(n > 0, "the server closed the connection: {path}");
        self.buffer.extend_from_slice(&part[..n]);
    }
}

/// Asks at random from this many connections. Returns the answers with status 200; the others must be 503.
pub(super) fn ask(address: &str, targets: &Targets, connections: u64, requests: u64) -> u64 {
    let (asked, good) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..connections {
            let (asked, good) = (&asked, &good);
            scope.spawn(move || {
                let (mut client, mut dice) = (Client::to(address), Dice(number * 7_919 + 12_345));
                while asked.fetch_add(1, Ordering::Relaxed) < requests {
                    let kind = Kind::ALL[dice.below(3)];
                    let path = path(kind, targets, &mut dice);
                    match client.get(&path) {
                        200 => drop(good.fetch_add(1, Ordering::Relaxed)),
                        503 => {}
                        other => panic!("{other}: {path}"),
                    }
                }
            });
        }
    });
    good.into_inner()
}

/// Connections that ask for large answers and do not read them, send large bodies slowly, or do nothing. They stay open
/// as long as they are held.
pub(super) fn behave_badly(address: &str, each: usize) -> Vec<TcpStream> {
    let mut held = Vec::new();
    let body = vec![b' '; 1 << 20];
    for _ in 0..each {
        let mut large = TcpStream::connect(address).unwrap();
        write!(large, "GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n").unwrap();
        held.push(large);
        let mut slow = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/tx/verify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        slow.write_all(head.as_bytes()).unwrap();
        // All but the end; the server may refuse it.
        let _ = slow.set_write_timeout(Some(Duration::from_millis(200)));
        let _ = slow.write_all(&body[..body.len() - 1]);
        held.push(slow);
        held.push(TcpStream::connect(address).unwrap());
    }
    held
}
