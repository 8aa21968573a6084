//! Answers of the node over RPC: whatever it sends, the errors are short.

use cairn_node::fuzzing;

use super::bounds::within;

const STATUS: [u16; 6] = [200, 200, 404, 500, 502, 403];
/// Longest text of an error, in bytes: it goes to the log and to clients.
const MAX_ERROR: usize = 4_500;
/// Methods by which an answer is read, single and in a batch, and memory for each byte of it.
const BYTES_PER_BYTE: u64 = 600;

/// The status (modulo six), then the body. It answers request 7, or requests 7 to 9.
pub fn run(bytes: &[u8]) {
    let Some((status, body)) = bytes.split_first() else { return };
    let status = STATUS[usize::from(*status) % STATUS.len()];
    let errors = within((2 << 20) + BYTES_PER_BYTE * body.len() as u64, || fuzzing::rpc_answer(status, body));
    for error in errors {
        let text = error.to_string();
        assert!(
            text.len() <= MAX_ERROR,
            "an error of {} bytes: {}",
            text.len(),
            text.chars().take(100).collect::<String>()
        );
    }
}
