//! Folders of small chains, the program in them, and a very small HTTP client.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::assert::Assert;
use bitcoin::Network;
use cairn_chaingen::{
    Chain, Everything,
    corefiles::{FileOptions, Layout, write_chain},
};
use serde_json::Value;
use tempfile::TempDir;

/// Whatever a test waits for comes within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Key of the obfuscation of the block files.
pub(crate) const KEY: [u8; 8] = [0x6b, 0x01, 0xff, 0x00, 0x42, 0x17, 0x99, 0xc3];

/// A command without any setting from outside.
pub(crate) fn cairn() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CAIRN_") || text == "RUST_LOG" {
            command.env_remove(&name);
        }
    }
    command
}

/// A folder with block files in `blocks`; `cairn` runs in it, with its index in `data`.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        World { dir: cairn_testkit::temp_dir() }
    }

    /// A folder with the files of a chain.
    pub(crate) fn with(chain: &Chain) -> Self {
        let world = World::empty();
        world.write(chain);
        world
    }

    /// A small chain of this many blocks.
    pub(crate) fn small(blocks: u32) -> Self {
        World::with(grown(blocks).chain())
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the files of a chain.
    pub(crate) fn write(&self, chain: &Chain) {
        write_chain(&self.path("blocks"), chain, &layout()).unwrap();
    }

    /// Appends to the files what a longer form of the same chain adds, as a node does: undo data first, so that no
    /// block is seen without.
    pub(crate) fn append(&self, longer: &Chain) {
        let other = World::with(longer);
        for name in ["blocks/rev00000.dat", "blocks/blk00000.dat"] {
            let (old, new) = (fs::read(self.path(name)).unwrap(), fs::read(other.path(name)).unwrap());
            assert!(new.starts_with(&old), "{name} is no continuation");
            let mut file = fs::OpenOptions::new().append(true).open(self.path(name)).unwrap();
            file.write_all(&new[old.len()..]).unwrap();
        }
    }

    /// The program, with this folder as the current one.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = cairn();
        command.current_dir(self.dir.path()).args(line.split_whitespace());
        command
    }

    /// Runs a command line to its end.
    pub(crate) fn run(&self, line: &str) -> Assert {
        Assert::new(self.command(line).output().unwrap()).append_context("command", line.to_owned())
    }

    /// Indexes the files once.
    pub(crate) fn index(&self) {
        self.run("index --network regtest --datadir data --blocks-dir blocks --once").success();
    }

    /// Runs a command; returns its output.
    pub(crate) fn stdout(&self, line: &str) -> String {
        String::from_utf8(self.run(line).success().get_output().stdout.clone()).unwrap()
    }

    /// Starts a command that goes on.
    pub(crate) fn start(&self, line: &str) -> Running {
        Running::start(self.command(line))
    }
}

/// How the files are laid out.
pub(crate) fn layout() -> Layout {
    Layout::tidy(FileOptions::new(Network::Regtest, KEY))
}

/// A generator after this many blocks.
pub(crate) fn grown(blocks: u32) -> Everything {
    let mut generator = Everything::new(11, 4, false);
    generator.grow(blocks).unwrap();
    generator
}

/// A failed command: its exit code and what it says in one error line, with the hint's line if there is one.
#[track_caller]
pub(crate) fn fails(assert: Assert, code: i32, says: &[&str]) {
    let assert = assert.code(code);
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "one error line: {text}");
    for word in says {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
    assert!(!text.contains("panicked") && !text.contains("backtrace"), "{text}");
}

/// A process that goes on, with what it says.
pub(crate) struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Starts it and collects both its outputs.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let sources: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for source in sources {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                for line in BufReader::new(source).lines().map_while(Result::ok) {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    said.push_str(&line);
                    said.push('\n');
                }
            });
        }
        Running { child, said }
    }

    /// All it has said so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str) {
        wait_until(what, || {
            if self.said().contains(what) {
                return true;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended ({ended:?}) before it said {what:?}: {}", self.said());
            false
        });
    }

    /// Where it serves.
    #[track_caller]
    pub(crate) fn address(&mut self) -> String {
        self.wait_for("serving url=");
        let said = self.said();
        let url = said.split("serving url=").nth(1).unwrap().split_whitespace().next().unwrap();
        url.trim_matches('"').trim_start_matches("http://").to_owned()
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end; how long that took.
    #[track_caller]
    pub(crate) fn end(&mut self) -> (ExitStatus, Duration) {
        let started = Instant::now();
        let mut status = None;
        wait_until("the end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        (status.unwrap(), started.elapsed())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Most have ended by themselves.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again and again until it holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "waited too long for {what:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A GET request; status and body.
pub(crate) fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(!head.to_lowercase().contains("transfer-encoding: chunked"), "bodies are expected in one piece: {head}");
    (status, body.to_owned())
}

/// A GET request that is answered with 200 and JSON.
#[track_caller]
pub(crate) fn get_json(address: &str, path: &str) -> Value {
    let (status, body) = get(address, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}
