//! Use of resources by the server, and the units that it has charged.

use std::{
    fs,
    time::{Duration, Instant},
};

use cairn_support::loopback::{Answer, Client};

use crate::support::Server;

/// Rate limit of a server whose charges are measured: what refills while it is measured must not hide a charge.
pub const UNITS_PER_MINUTE: u32 = 6_000;

/// Nanoseconds that a thread has run.
fn ran(folder: &str) -> Option<u64> {
    fs::read_to_string(format!("{folder}/schedstat")).ok()?.split(' ').next()?.parse().ok()
}

/// Processor time of all threads but this one: of the server, if the test has no other threads.
pub fn server_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let all: u64 = tasks.filter_map(|task| ran(task.unwrap().path().to_str().unwrap())).sum();
    Duration::from_nanos(all.saturating_sub(ran("/proc/thread-self").unwrap()))
}

/// Bytes of memory: those in use, and the most since [`forget_peak`].
pub fn memory() -> (usize, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kib = |field: &str| -> usize {
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
    };
    (kib("VmRSS") << 10, kib("VmHWM") << 10)
}

/// Resets the highest use of memory.
pub fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Units that a fresh client is charged for what it does, without its two looks at its budget. The budget must not be
/// full again in between: what it does has to cost more units than time refills.
pub fn charged(server: &Server, host: u8, ask: impl FnOnce(&mut Client) -> Answer) -> (Answer, f64) {
    let mut client = Client::from(host, server.address);
    let before = client.get("/livez").units_left();
    let began = Instant::now();
    let answer = ask(&mut client);
    // The rest is charged when the work has ended, which may be after the answer.
    std::thread::sleep(Duration::from_millis(5));
    let after = client.get("/livez").units_left();
    let refilled = began.elapsed().as_secs_f64() * f64::from(UNITS_PER_MINUTE) / 60.0;
    (answer, f64::from(before) - f64::from(after) - 1.0 + refilled)
}
