//! The limit on the address space of the process (`ulimit -v`). An allocation beyond it, in the database or for a new
//! thread, aborts the process instead of failing with an error. So a limit that is too low is reported at the start.

use rlimit::{INFINITY, Resource};

use crate::exit::{Exit, Failure};

/// Bytes needed besides the configured memory: code, tables of the database, the allocator's reserve, and the stacks of
/// all threads. Most of the stacks is reserved and never used.
const REST: u64 = 2 << 30;

/// Fails if the limit is below the configured memory plus `REST`.
pub(crate) fn check(configured: u64) -> Result<(), Failure> {
    // A system without this limit reports no soft limit.
    let limit = Resource::AS.get_soft().unwrap_or(INFINITY);
    fits(limit, configured)
}

fn fits(limit: u64, configured: u64) -> Result<(), Failure> {
    let needed = configured.saturating_add(REST);
    if limit >= needed {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    let message = format!(
        "the address space of this process is limited to {} MiB, and it needs {} MiB: {} MiB as configured, and {} MiB \
         for code, threads and the allocator",
        mib(limit),
        mib(needed),
        mib(configured),
        mib(REST)
    );
    Err(Failure::new(Exit::Other, message).hint(
        "raise the limit (ulimit -v, or LimitAS= of a systemd unit), or configure less memory or a smaller cache; to limit \
         the memory that is really used, use a control group (MemoryMax= of a systemd unit)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_the_configured_memory_is_told() {
        assert!(fits(INFINITY, u64::MAX).is_ok() && fits(REST, 0).is_ok() && fits(3 << 30, 1 << 30).is_ok());
        let said = fits((3 << 30) - 1, 1 << 30).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(said.contains("limited to 3071 MiB, and it needs 3072 MiB: 1024 MiB as configured"), "{said}");
        assert!(said.contains("ulimit -v"), "{said}");
    }
}
