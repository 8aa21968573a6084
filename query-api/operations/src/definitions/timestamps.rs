//! Definitions of timestamps.

use cairn_http::Definition;

pub(crate) const TIMESTAMPS: &str = "timestamps";

pub(super) const TIMESTAMPS_PAGE: Definition = Definition {
    id: TIMESTAMPS,
    title: "Timestamps",
    text: &[
        "An OpenTimestamps proof (*.ots) has the hash of a file, and operations that lead from it to attestations: hash \
         functions (SHA-256, SHA-1, RIPEMD-160, Keccak-256), bytes before or behind, reversal, hexadecimal digits. It is a \
         tree, so one proof may have several attestations. A Bitcoin attestation says that the result is the Merkle \
         root in the header of the block at a height. Nobody can find a file with a given SHA-256 hash afterwards, so \
         a file whose hash leads there existed when the block was made.",
        "An attestation is verified if the result is the Merkle root of the block at that height of the active chain, \
         byte for byte; otherwise it is a mismatch. height_unknown: the index has no block of this height yet. \
         pending: a calendar has promised to anchor the hash, and the proof must be completed there (ots upgrade). \
         foreign: an attestation of Litecoin, of Ethereum or of an unknown kind, which this server cannot check. The \
         proof is verified if one Bitcoin attestation is, and if the hash in the request, if there is one, is that of \
         the proof.",
        "A verified proof shows that the file existed before T + 2 h, not at T, and not who had it. T is the time in \
         the header of the lowest such block: the clock of a miner. Nodes refuse a block whose time is more than \
         two hours ahead of their clocks, or not above the median time past of the block before it. No rule says how \
         far the time may be behind, so T + 2 h rests on a miner whose clock was at most two hours slow; blocks \
         before and after it show if this is plausible. mtp is the median of the times of the block and the 10 \
         before it.",
        "With fewer than 6 confirmations a reorg may still replace the block (provisional_confirmations). Outside of the \
         main network anyone may make blocks at any time, and the format does not name the network: such proofs have \
         the caveat not_mainnet, and the answer names the network and its first block.",
        "SHA-1 and RIPEMD-160 as the hash of a file are weaker: the maker of a file can prepare two files with \
         the same SHA-1.",
        "Hashes that are handed in to this server are anchored in batches. 16 random bytes are put behind each hash, and \
         both are hashed: that is a leaf. Neighbours are put together and hashed with SHA-256, level by level; the last \
         node of a level without a neighbour goes up as it is. A transaction has the root in an OP_RETURN output. The \
         proof leads from the hash through the tree, through the transaction without its witness, and through the Merkle \
         tree of the block. States: pending (waits for a batch), aggregated (in a batch), broadcast (the transaction was \
         sent), confirmed (in a block; a reorg takes it back), final (6 confirmations; the proof never changes), failed \
         (the batch was given up).",
        "The quote: the fee is the feerate for one of the next six blocks times the expected size of the transaction, \
         rounded up; the share is the fee divided by the hashes that wait and one more, rounded up.",
        "Limits: 64 KiB, 256 operations in a row, 10 000 operations, messages of 4 096 bytes, and 4 MiB that all \
         operations read and write together. A malformed proof is refused with the offset of its first wrong byte.",
    ],
};
