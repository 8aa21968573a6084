//! A process that a test starts, reads and ends.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Whatever a test waits for comes within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that goes on, with what it says.
pub struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Starts it and collects both its outputs.
    pub fn start(mut command: Command) -> Self {
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
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str) {
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
    pub fn address(&mut self) -> String {
        self.wait_for("serving url=");
        let said = self.said();
        let url = said.split("serving url=").nth(1).unwrap().split_whitespace().next().unwrap();
        url.trim_matches('"').trim_start_matches("http://").to_owned()
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end; how long that took.
    #[track_caller]
    pub fn end(&mut self) -> (ExitStatus, Duration) {
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
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "waited too long for {what:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
