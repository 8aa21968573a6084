//! Measures this machine on real block files: how fast they are read, and how fast their blocks are decoded.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use cairn_sources::{BlockFiles, SourceError, decode_block};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;
/// Bytes of a script's hash in its id, as in every index.
const PREFIX_LEN: usize = 8;

/// Limits of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MeasureLimits {
    /// Files that samples are taken of, evenly spread over the folder.
    pub files: usize,
    /// Bytes to read of each file.
    pub bytes_per_file: u64,
    /// Time after which no further file is begun, for each of the two measurements.
    pub time: Duration,
}

impl Default for MeasureLimits {
    fn default() -> Self {
        MeasureLimits { files: 16, bytes_per_file: 8 << 20, time: Duration::from_secs(10) }
    }
}

/// Reading of block files by one thread, not from the system's cache where the system allows to leave it out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReadSample {
    /// Bytes that were read.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// True if the system was asked to drop these bytes from its cache before.
    pub is_uncached: bool,
}

impl ReadSample {
    /// Bytes a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-9)
    }
}

/// Decoding of real blocks by one thread: everything that is hashed and checked when a block is first read.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DecodeSample {
    /// Blocks that were decoded.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds of processor time.
    pub seconds: f64,
    /// Inputs and outputs in them.
    pub inputs_and_outputs: u64,
    /// Blocks that did not decode. Their bytes are not counted.
    pub damaged: u64,
}

impl DecodeSample {
    /// Bytes a second of processor time.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-9)
    }

    /// Inputs and outputs for each MB (10^6 bytes) of blocks.
    #[must_use]
    pub fn density(&self) -> f64 {
        self.inputs_and_outputs as f64 * 1e6 / self.bytes.max(1) as f64
    }
}

/// The results of both measurements; `None` where the folder has too little to measure.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Measured {
    /// Reading.
    pub read: Option<ReadSample>,
    /// Decoding.
    pub decode: Option<DecodeSample>,
}

/// Measures with samples of the block files of a folder. It reads at most twice the limits' bytes, and writes nothing.
pub fn measure(files: &BlockFiles, limits: &MeasureLimits) -> Result<Measured, SourceError> {
    let numbers = spread(&files.block_numbers()?, limits.files);
    // Reading first: decoding brings the same bytes into the cache.
    let read = measure_reading(files, &numbers, limits)?;
    let decode = measure_decoding(files, &numbers, limits)?;
    Ok(Measured { read, decode })
}

/// Up to `count` of the numbers, evenly spread, the first and the last among them.
fn spread(numbers: &[u32], count: usize) -> Vec<u32> {
    if numbers.len() <= count || count < 2 {
        return numbers.iter().take(count.max(1)).copied().collect();
    }
    let last = numbers.len() - 1;
    (0..count).filter_map(|at| numbers.get(at * last / (count - 1)).copied()).collect()
}

fn measure_reading(
    files: &BlockFiles,
    numbers: &[u32],
    limits: &MeasureLimits,
) -> Result<Option<ReadSample>, SourceError> {
    let (start, mut buffer) = (Instant::now(), vec![0; READ_BYTES]);
    let mut sample = ReadSample { bytes: 0, seconds: 0.0, is_uncached: true };
    for number in numbers.iter().take_while(|_| start.elapsed() < limits.time) {
        let path = files.block_path(*number);
        let io = |source| SourceError::Io { path: path.clone(), source };
        let file = File::open(&path).map_err(io)?;
        sample.is_uncached &= drop_cached(&file, limits.bytes_per_file);
        let (began, mut at) = (Instant::now(), 0);
        while at < limits.bytes_per_file {
            match file.read_at(&mut buffer, at).map_err(io)? {
                0 => break,
                got => at += got as u64,
            }
        }
        sample.bytes += at;
        sample.seconds += began.elapsed().as_secs_f64();
    }
    Ok((sample.bytes > 0).then_some(sample))
}

/// Asks the system to drop the first bytes of a file from its cache; true if it agreed.
#[cfg(target_os = "linux")]
fn drop_cached(file: &File, bytes: u64) -> bool {
    use rustix::fs::{Advice, fadvise};
    fadvise(file, 0, std::num::NonZeroU64::new(bytes), Advice::DontNeed).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn drop_cached(_: &File, _: u64) -> bool {
    false
}

fn measure_decoding(
    files: &BlockFiles,
    numbers: &[u32],
    limits: &MeasureLimits,
) -> Result<Option<DecodeSample>, SourceError> {
    let (start, mut sample) = (Instant::now(), DecodeSample::default());
    for number in numbers.iter().take_while(|_| start.elapsed() < limits.time) {
        files.sample(*number, limits.bytes_per_file, &mut |block| {
            let began = thread_seconds();
            let decoded = decode_block(block, PREFIX_LEN);
            let seconds = thread_seconds() - began;
            match decoded {
                Ok(decoded) => {
                    sample.blocks += 1;
                    sample.bytes += block.len() as u64;
                    sample.seconds += seconds;
                    sample.inputs_and_outputs += (decoded.prevouts.len() + decoded.outputs.len()) as u64;
                }
                Err(_) => sample.damaged += 1,
            }
        })?;
    }
    Ok((sample.bytes > 0).then_some(sample))
}

/// Processor time of this thread in seconds.
fn thread_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_over_all_files() {
        let numbers: Vec<u32> = (0..100).collect();
        assert_eq!(spread(&numbers, 4), [0, 33, 66, 99]);
        assert_eq!(spread(&numbers[..3], 4), [0, 1, 2]);
        assert_eq!(spread(&numbers, 1), [0]);
        assert_eq!(spread(&[], 4), Vec::<u32>::new());
    }
}
