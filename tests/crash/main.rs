//! The process, killed with SIGKILL at any moment of any work, started again, and killed again: what it ends with
//! equals, table by table, what a run ends with that nobody disturbs. And between: an index that was there opens and
//! audits clean, one that was in the making says that it is empty.
//!
//! A moment is a random time within the work, or a random time after a phase was seen in the working folder. The choice
//! is seeded; a failure names the seed and prints the whole story of the index. `syscalls` is exact instead: it kills
//! at the n-th system call of a kind. SIGKILL ends the process and not the machine; `power` ends the machine, too: its
//! disk loses what was not flushed.
//!
//! `CAIRN_TEST_LONG=1` tries several times as many moments.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod bulk;
mod disk;
mod growing;
mod killing;
#[cfg(target_os = "linux")]
mod lossy_disk;
mod machine;
mod phase;
#[cfg(target_os = "linux")]
mod power;
mod repair;
mod syscalls;
mod tip;
mod upkeep;
mod world;
