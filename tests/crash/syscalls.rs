//! Killed at the n-th system call of a kind: exact, where random moments may never meet a short window.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

use crate::{
    killing::{After, Tally},
    machine::{Line, Machine},
    tip::index_of,
    world::{World, long},
};

/// Calls after which a disk is different.
const CALLS: [&str; 9] = ["fsync", "fdatasync", "rename", "unlink", "unlinkat", "link", "write", "ftruncate", "mkdir"];

fn strace(words: &str) -> Vec<String> {
    format!("strace -f -qq -o {words} --").split_whitespace().map(str::to_owned).collect()
}

/// How often a run makes the call, all threads together.
fn count(machine: &Machine, line: &Line, call: &str) -> usize {
    let output = machine.command(&strace(&format!("calls -e trace={call}")), line).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = std::fs::read_to_string(machine.data().with_file_name("calls")).unwrap();
    calls.lines().filter(|line| line.contains(&format!("{call}("))).count()
}

/// Kills at each `stride`-th call of each kind, mends, compares.
fn at_calls(
    name: &'static str,
    start: Option<&Machine>,
    (line, mend): (&Line, &Line),
    (after, sums): (After, &str),
    stride: usize,
) {
    let mut tally = Tally::new(name);
    let fresh = |title: String| match start {
        Some(start) => Machine::copy_of(start, title),
        None => Machine::new(title),
    };
    for (c, call) in CALLS.into_iter().enumerate() {
        let calls = count(&fresh("counting".to_owned()), line, call);
        for n in (1 + c % stride..=calls).step_by(stride) {
            let machine = fresh(format!("killed at {call} number {n} of {calls}: {line}"));
            let inject = strace(&format!("/dev/null -e trace={call} -e inject={call}:signal=SIGKILL:when={n}"));
            let status = machine.command(&inject, line).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            if status.signal() != Some(9) {
                // The calls are counted per thread: this many are not in one.
                assert!(status.success(), "{} {status}", machine.story());
                break;
            }
            tally.hit(call);
            after.check(&machine);
            machine.ok(mend);
            machine.assert_is(sums);
        }
    }
    for call in ["fsync", "fdatasync", "write"] {
        assert!(tally.has(call), "{name}: no kill at {call}");
    }
    tally.print();
}

/// Whether processes can be traced here.
fn can_trace() -> bool {
    let probe = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

fn every(short: usize) -> usize {
    if long() { 1 } else { short }
}

#[test]
fn indexing_and_unwinding() {
    if !can_trace() {
        cairn_testkit::skip!("strace is missing, or may not trace");
    }
    let world = World::shared();
    let to = |to| Line::index(&world.after(), Some(to));
    let ((low, low_sums), (high, high_sums)) = (index_of(&to(120)), index_of(&to(160)));
    let (up, down) = (to(160), Line::unwind(120));
    at_calls("bulk, at calls", None, (&up, &up), (After::EmptyOrSound, &high_sums), every(37));
    at_calls("tip, at calls", Some(&low), (&up, &up), (After::Sound, &high_sums), every(37));
    at_calls("unwind, at calls", Some(&high), (&down, &down), (After::Sound, &low_sums), every(37));
}

#[test]
fn reindexing() {
    if !can_trace() {
        cairn_testkit::skip!("strace is missing, or may not trace");
    }
    let world = World::shared();
    let index = Line::index(&world.after(), Some(160));
    let (start, sums) = index_of(&index);
    for (stage, short) in [("scripts", 13), ("coins", 37), ("spends", 37)] {
        let line = Line::reindex(stage);
        at_calls("reindex, at calls", Some(&start), (&line, &index), (After::MayLackStage, &sums), every(short));
    }
}
