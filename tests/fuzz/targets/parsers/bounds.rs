//! Memory that decoding takes.

/// Memory that decoding may take for each byte of input, and besides: lists that double, and room for usual blocks.
const BYTES_PER_BYTE: u64 = 80;
const FREE_BYTES: u64 = 70 << 10;

/// Decodes and compares the memory that it took with the length of the input.
pub fn within_bounds<T>(input: &[u8], decode: impl FnOnce(&[u8]) -> T) -> T {
    within(FREE_BYTES + BYTES_PER_BYTE * input.len() as u64, || decode(input))
}

/// Does something that may take this much memory.
pub fn within<T>(limit: u64, work: impl FnOnce() -> T) -> T {
    let mut done = None;
    let taken = allocation_counter::measure(|| done = Some(work()));
    assert!(taken.bytes_max <= limit, "{} bytes of memory, at most {limit} are allowed", taken.bytes_max);
    done.unwrap()
}
