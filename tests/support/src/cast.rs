//! The processes that are tested, in one form or the other, and where they serve at present.

use std::{
    os::unix::process::ExitStatusExt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_standin::StandIn;

use crate::{client::Client, program::Program, running::Running, world::World};

/// Whatever is waited for comes within this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// In how many processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `cairn run`.
    One,
    /// `cairn index` (`cairn run` if it anchors) and `cairn serve`.
    Two,
}

/// Where the processes serve, for whoever watches them from outside.
#[derive(Default)]
pub struct ServedAddress {
    address: Mutex<String>,
    up: AtomicBool,
}

impl ServedAddress {
    /// The address; `None` while nobody serves.
    pub fn address(&self) -> Option<String> {
        self.up.load(Ordering::SeqCst).then(|| self.address.lock().unwrap().clone())
    }

    fn leave(&self) {
        self.up.store(false, Ordering::SeqCst);
    }

    fn enter(&self, address: String) {
        *self.address.lock().unwrap() = address;
        self.up.store(true, Ordering::SeqCst);
    }
}

/// The processes.
pub struct Cast {
    /// The folder that they run in.
    pub world: World,
    /// In how many processes they run; changed only while none runs.
    pub form: Form,
    /// The address at which they serve.
    pub served: Arc<ServedAddress>,
    /// Arguments that name the node.
    node: String,
    /// Further arguments of the process that writes, and of the one that serves where it is another one.
    more: [String; 2],
    writer: Option<Running>,
    reader: Option<Running>,
}

impl Cast {
    /// Processes for a node, in an empty folder; none is started.
    pub fn new(program: Program, node: &StandIn, form: Form) -> Self {
        let node = format!("--node {} --node-cookie {}", node.url(), node.cookie_file().display());
        Cast {
            world: World::empty(program),
            form,
            served: Arc::default(),
            node,
            more: Default::default(),
            writer: None,
            reader: None,
        }
    }

    /// The same with further arguments of both processes; the one that serves may ask the node, too.
    pub fn with(self, writes: &str, serves: &str) -> Self {
        let serves = format!("{} {serves}", self.node);
        Cast { more: [writes.to_owned(), serves], ..self }
    }

    /// Starts them all, with an empty index.
    pub fn start(program: Program, node: &StandIn, form: Form) -> Self {
        let mut cast = Cast::new(program, node, form);
        cast.start_all();
        cast
    }

    /// Starts them all, with an empty index.
    pub fn start_all(&mut self) {
        self.start_writer();
        // There is something to serve.
        self.writer.as_mut().unwrap().wait_for("at the node's tip");
        if self.form == Form::Two {
            self.start_reader();
        }
    }

    /// The numbers of the processes that run: of the one that writes, and of the other.
    pub fn pids(&self) -> [Option<u32>; 2] {
        [&self.writer, &self.reader].map(|running| running.as_ref().map(Running::pid))
    }

    /// Waits until something holds; if it takes too long, the processes' words say more than its name.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < PATIENCE, "waited too long for {what}\n{}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts a process; what it leaves behind when it is killed goes with the folder.
    fn begin(&self, line: &str) -> Running {
        let scratch = self.world.path("scratch");
        std::fs::create_dir_all(&scratch).unwrap();
        let mut command = self.world.command(line);
        command.env("TMPDIR", scratch);
        // A client that compares all answers asks more than a client may.
        command.env("CAIRN_RATE_LIMIT", "0");
        Running::start(command)
    }

    /// Indexes what the node has, and ends.
    pub fn index_once(&self) {
        self.world.run(&format!("index --network regtest --datadir data {} --once", self.node)).success();
    }

    /// Starts the process that writes.
    pub fn start_writer(&mut self) {
        let index = format!("--network regtest --datadir data {} {}", self.node, self.more[0]);
        let mut running = self.begin(&match self.form {
            Form::One if self.more[0].contains("--listen ") => format!("run {index}"),
            Form::One => format!("run {index} --listen 127.0.0.1:0"),
            // Only a process that serves as well anchors.
            Form::Two if self.more[0].contains("--timestamps-wallet ") => format!("run {index} --listen 127.0.0.1:0"),
            Form::Two => format!("index {index}"),
        });
        if self.form == Form::One {
            self.served.enter(running.address());
        }
        self.writer = Some(running);
    }

    /// Starts the process that serves, where it is another one.
    pub fn start_reader(&mut self) {
        let mut running = self.begin(&format!("serve --datadir data --listen 127.0.0.1:0 {}", self.more[1]));
        self.served.enter(running.address());
        self.reader = Some(running);
    }

    /// Ends the process that writes.
    pub fn end_writer(&mut self, signal: &str) {
        if self.form == Form::One {
            self.served.leave();
        }
        end(self.writer.take(), signal);
    }

    /// Ends the process that serves, where it is another one.
    pub fn end_reader(&mut self, signal: &str) {
        self.served.leave();
        end(self.reader.take(), signal);
    }

    /// Whether another process serves than the one that writes.
    pub fn reader_runs(&self) -> bool {
        self.reader.is_some()
    }

    /// Starts what does not run.
    pub fn complete(&mut self) {
        if self.writer.is_none() {
            self.start_writer();
        }
        if self.form == Form::Two && self.reader.is_none() {
            self.start_reader();
        }
    }

    /// Ends what runs, in order.
    pub fn stop(&mut self) {
        if self.reader.is_some() {
            self.end_reader("TERM");
        }
        if self.writer.is_some() {
            self.end_writer("TERM");
        }
    }

    /// A client of whoever serves.
    pub fn client(&self) -> Client {
        Client::new(&self.served.address().expect("nobody serves"))
    }

    /// The last lines that the processes said.
    pub fn said(&self) -> String {
        let tail = |name: &str, running: &Option<Running>| {
            let said = running.as_ref().map(Running::said).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            format!("--- {name}:\n{}\n", lines[lines.len().saturating_sub(40)..].join("\n"))
        };
        tail("writer", &self.writer) + &tail("reader", &self.reader)
    }

    /// The index is audited against the node, and equals one that was made in one go. The processes have ended.
    pub fn audit(&self) {
        let verified = self.world.stdout(&format!("verify --datadir data {}", self.node));
        assert!(
            verified.contains("MuHash of the coins matches the node") && !verified.contains("DIFFERS"),
            "{verified}"
        );
        self.world.run(&format!("index --network regtest --datadir straight {} --once", self.node)).success();
        let sums = |datadir: &str| self.world.stdout(&format!("db checksum --datadir {datadir}"));
        assert_eq!(sums("data"), sums("straight"));
    }
}

fn end(running: Option<Running>, signal: &str) {
    let Some(mut running) = running else { return };
    running.signal(signal);
    let (status, took) = running.end();
    // On a busy machine the signal may come before the program listens for it; then it has not said a word either.
    let unheard = status.signal() == Some(15) && running.said().is_empty();
    if signal == "TERM" && !unheard {
        assert_eq!(status.code(), Some(143), "after {took:?}, {status}: {}", running.said());
    }
}
