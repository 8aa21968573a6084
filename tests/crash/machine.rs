//! A folder with an index in it, the program that works on it, and the hand that kills the program.

use std::{
    cell::RefCell,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::phase::{self, Phase};

/// Time between two looks at a process.
const GLANCE: Duration = Duration::from_micros(300);
/// No command here takes as long.
const PATIENCE: Duration = Duration::from_secs(300);

/// A command line, without the program.
#[derive(Clone, Debug)]
pub struct Line(pub Vec<String>);

impl Line {
    /// The words.
    pub fn of(words: &str) -> Self {
        Line(words.split_whitespace().map(str::to_owned).collect())
    }

    /// Indexes a folder up to its tip, or to a height.
    pub fn index(blocks: &Path, to: Option<u32>) -> Self {
        let mut line = Line::of("index --network regtest --datadir data --once --blocks-dir");
        line.0.push(blocks.to_str().unwrap().to_owned());
        line.0.extend(to.into_iter().flat_map(|to| ["--to".to_owned(), to.to_string()]));
        line
    }

    /// Makes finished work durable all the time.
    pub fn saving(mut self) -> Self {
        self.0.extend(["--save-every".to_owned(), "0".to_owned()]);
        self
    }

    /// Indexes a folder and follows it.
    pub fn follow(blocks: &Path) -> Self {
        let mut line = Line::index(blocks, None);
        line.0.retain(|word| word != "--once");
        line
    }

    /// Disconnects blocks.
    pub fn unwind(to: u32) -> Self {
        Line::of(&format!("unwind --datadir data --to {to}"))
    }

    /// Rebuilds a stage.
    pub fn reindex(stage: &str) -> Self {
        Line::of(&format!("reindex --datadir data --stage {stage}"))
    }

    /// Mends the index.
    pub fn repair() -> Self {
        Line::of("repair --datadir data")
    }

    /// Whether it takes blocks from the journal, not from files.
    fn reads_journal(&self) -> bool {
        self.0[0] == "reindex"
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cairn {}", self.0.join(" "))
    }
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// So long after the start.
    After(Duration),
    /// So long after the phase was seen, or a later one.
    In(Phase, Duration),
}

/// How a run ended that was to be killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Killed in this phase, as the folder shows it afterwards.
    Killed(Phase),
    /// It was done first.
    Finished,
}

/// How an index looks from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// There is none, or none yet.
    Empty,
    /// All stages are at this height.
    Whole(u32),
    /// Not all stages are at the journal's height.
    LacksStage(u32),
    /// A table is gone, the one that takes its place is not there yet.
    LacksTable,
}

/// How long each phase of an undisturbed run took.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// From start to end of the process.
    pub total: Duration,
    /// Phases that were seen, each with the time from which on.
    seen: Vec<(Phase, Duration)>,
}

impl Timeline {
    /// The first third: opening and surveying, at least, of a short run.
    pub fn early(&self) -> Self {
        Timeline { total: self.total / 3, seen: Vec::new() }
    }

    /// How long a phase took; nothing for one that was too short to be seen.
    pub fn of(&self, phase: Phase) -> Duration {
        let Some(at) = self.seen.iter().position(|(p, _)| *p == phase) else { return Duration::ZERO };
        self.seen.get(at + 1).map_or(self.total, |next| next.1) - self.seen[at].1
    }
}

/// A started process; it does not outlive the test.
struct Process(Child);

impl Process {
    /// Its status once it has ended.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// SIGKILL; false if it had ended by itself.
    fn kill(&mut self) -> bool {
        use std::os::unix::process::ExitStatusExt;
        self.0.kill().unwrap();
        self.0.wait().unwrap().signal() == Some(9)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Most have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the program runs, with the index in `data`; and what has happened there.
pub struct Machine {
    dir: TempDir,
    story: RefCell<Vec<String>>,
}

impl Machine {
    /// One without an index. The title opens the story that a failure prints.
    pub fn new(title: impl fmt::Display) -> Self {
        Machine { dir: cairn_testkit::temp_dir(), story: RefCell::new(vec![title.to_string()]) }
    }

    /// One whose folder is in this one.
    pub fn within(folder: &Path, title: impl fmt::Display) -> Self {
        let dir = tempfile::tempdir_in(folder).unwrap();
        Machine { dir, story: RefCell::new(vec![title.to_string()]) }
    }

    /// One with a copy of another's index.
    pub fn copy_of(other: &Machine, title: impl fmt::Display) -> Self {
        let machine = Machine::new(title);
        copy(&other.data(), &machine.data());
        machine
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// All that has happened, for the message of a failure.
    pub fn story(&self) -> String {
        self.story.borrow().join("\n  ")
    }

    /// Adds to the story.
    pub fn tell(&self, what: impl fmt::Display) {
        self.story.borrow_mut().push(what.to_string());
    }

    /// The program, or another that is given as a prefix, with a clean environment.
    pub fn command(&self, prefix: &[String], line: &Line) -> Command {
        let program = env!("CARGO_BIN_EXE_cairn").to_owned();
        let words: Vec<&String> = prefix.iter().chain([&program]).chain(&line.0).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.dir.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CAIRN_") || text == "RUST_LOG" {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Runs a command to its end.
    pub fn output(&self, line: &Line) -> Output {
        let output = self.command(&[], line).output().unwrap();
        self.tell(format!("{line}: {}", output.status));
        output
    }

    /// Runs a command that has to succeed; what it prints.
    #[track_caller]
    pub fn ok(&self, line: &Line) -> String {
        let output = self.output(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}\n{said}{}", self.story(), String::from_utf8_lossy(&output.stdout));
        assert!(!said.contains("panicked"), "{}\n{said}", self.story());
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command undisturbed and notes when which phase was seen.
    #[track_caller]
    pub fn timed(&self, line: &Line) -> Timeline {
        let (mut process, started) = (self.start(line), Instant::now());
        let mut watch = Watch::new(self, line);
        let mut seen = vec![(Phase::Start, Duration::ZERO)];
        loop {
            if let Some(status) = process.ended() {
                assert!(status.success(), "{line}: {status}\n{}", self.said());
                return Timeline { total: started.elapsed(), seen };
            }
            let phase = watch.look();
            if seen.last().is_some_and(|last| last.0 < phase) {
                seen.push((phase, started.elapsed()));
            }
            thread::sleep(GLANCE);
        }
    }

    /// Starts a command and kills it at the moment.
    ///
    /// # Panics
    /// If it fails by itself.
    #[track_caller]
    pub fn kill(&self, line: &Line, moment: Moment) -> End {
        self.kill_after(line, moment, || {})
    }

    /// As [`Machine::kill`], with something that happens right before the kill.
    #[track_caller]
    pub fn kill_after(&self, line: &Line, moment: Moment, before: impl FnOnce()) -> End {
        let (mut process, started) = (self.start(line), Instant::now());
        let mut watch = Watch::new(self, line);
        let mut due = match moment {
            Moment::After(delay) => Some(delay),
            Moment::In(..) => None,
        };
        loop {
            if let Some(status) = process.ended() {
                self.tell(format!("{line}: to be killed {moment:?}, was done first: {status}"));
                assert!(status.success(), "{}\n{}", self.story(), self.said());
                return End::Finished;
            }
            if let (None, Moment::In(phase, delay)) = (due, moment)
                && watch.look() >= phase
            {
                due = Some(started.elapsed() + delay);
            }
            if due.is_some_and(|due| started.elapsed() >= due) {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "{}\n{line} does not end", self.story());
            thread::sleep(GLANCE.min(due.map_or(GLANCE, |due| due.saturating_sub(started.elapsed()))));
        }
        before();
        let (at, killed) = (started.elapsed(), process.kill());
        let phase = watch.look();
        self.tell(format!("{line}: killed ({killed}) {moment:?}, {at:?} after its start, in {phase}"));
        assert!(!self.said().contains("panicked"), "{}\n{}", self.story(), self.said());
        if killed { End::Killed(phase) } else { End::Finished }
    }

    fn start(&self, line: &Line) -> Process {
        let log = fs::File::create(self.dir.path().join("log")).unwrap();
        Process(self.command(&[], line).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// The output of the process that was started last.
    pub fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// How the index looks to a reader; no writer mends it.
    #[track_caller]
    pub fn look(&self) -> Look {
        let output = self.command(&[], &Line::of("stages --datadir data")).output().unwrap();
        let (said, text) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        if output.status.code() == Some(5) {
            if said.contains("a rebuild was interrupted") {
                return Look::LacksTable;
            }
            let empty = ["error: no index in ", "error: the index is empty"].iter().any(|word| said.starts_with(word));
            assert!(empty, "{}\nneither opens nor is empty: {said}", self.story());
            return Look::Empty;
        }
        assert!(output.status.success(), "{}\nstages: {} {said}", self.story(), output.status);
        let stage = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let hash = words.last().is_some_and(|word| word.len() == 64);
            hash.then(|| words[words.len() - 2].parse().unwrap())
        };
        // Late stages follow afterwards: they may be behind, or not begun.
        let is_late = |line: &&str| ["flushes ", "wakeups ", "dust "].iter().any(|name| line.starts_with(name));
        let stages: Vec<Option<u32>> = text.lines().skip(1).filter(|line| !is_late(line)).map(stage).collect();
        assert!(stages.len() > 1, "{}\n{text}", self.story());
        let height = stages[0].expect("the journal is never rebuilt");
        if stages.iter().all(|stage| *stage == Some(height)) { Look::Whole(height) } else { Look::LacksStage(height) }
    }

    /// Height of an index that is whole.
    #[track_caller]
    pub fn height(&self) -> u32 {
        match self.look() {
            Look::Whole(height) => height,
            other => panic!("{}\n{other:?}", self.story()),
        }
    }

    /// Fails unless the audit is green.
    #[track_caller]
    pub fn verify(&self) {
        self.ok(&Line::of("verify --datadir data"));
    }

    /// Height, hash, and the checksum of every table.
    #[track_caller]
    pub fn sums(&self) -> String {
        self.ok(&Line::of("db checksum --datadir data"))
    }

    /// Fails unless the index is what it should be: same tables, sound, and nothing left in the data folder.
    #[track_caller]
    pub fn assert_is(&self, sums: &str) {
        let found = self.sums();
        let differ: Vec<_> = found.lines().zip(sums.lines()).filter(|(a, b)| a != b).collect();
        assert!(found == sums, "{}\ntables differ (found, expected): {differ:#?}", self.story());
        self.verify();
        assert!(!self.data().join("bulk").exists(), "{}\nworking files are left over", self.story());
    }
}

/// Looks at the working folder now and then.
struct Watch {
    data: PathBuf,
    log: PathBuf,
    journal: bool,
    /// Whether it is past opening and surveying: what lies in the folder before may be an earlier process's.
    works: bool,
    begun: bool,
}

impl Watch {
    fn new(machine: &Machine, line: &Line) -> Self {
        let journal = line.reads_journal();
        let log = machine.dir.path().join("log");
        Watch { data: machine.data(), log, journal, works: journal, begun: false }
    }

    fn look(&mut self) -> Phase {
        self.works = self.works || fs::read_to_string(&self.log).is_ok_and(|log| log.contains("block files surveyed"));
        if !self.works {
            return Phase::Start;
        }
        let seen = phase::seen(&self.data, self.journal);
        self.begun |= seen.is_some();
        seen.unwrap_or(if self.begun { Phase::Done } else { Phase::Start })
    }
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, at) = entry.map(|e| (e.path(), to.join(e.file_name()))).unwrap();
        if entry.is_dir() {
            copy(&entry, &at);
        } else {
            fs::copy(&entry, &at).unwrap();
        }
    }
}
