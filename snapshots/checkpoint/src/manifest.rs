//! The manifest of a checkpoint.

use cairn_model::{ChainParams, SignetChallenge, rfc3339};
use cairn_reader::{Reader, View};
use serde::{Deserialize, Serialize};

use crate::{CheckpointError, cut::pieces_of};

/// Name of the manifest of a checkpoint.
pub const CHECKPOINT: &str = "checkpoint.json";
/// Version of its form.
pub const FORM: u32 = 1;

/// Content of a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this form.
    pub form: u32,
    /// The program that made it.
    pub program: String,
    /// When it was made (UTC, RFC 3339).
    pub made_at: String,
    /// The network.
    pub network: String,
    /// The challenge of a custom signet in hexadecimal digits; absent for all other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signet_challenge: Option<String>,
    /// Height of the newest block.
    pub tip_height: u32,
    /// Its hash.
    pub tip_hash: String,
    /// Number of the newest input event; 0 if there is none.
    pub event_seq: u64,
    /// The files, by path.
    pub files: Vec<FileEntry>,
}

/// A file of a checkpoint.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path from the folder of the checkpoint, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of its pieces, in order. Each has 16 MiB, the last one the rest; a file of 16 MiB or less is one piece,
    /// also an empty one. In a store, a piece is an object.
    pub pieces: Vec<String>,
}

/// The folder of the index in a checkpoint.
pub(crate) const INDEX: &str = "index/";

impl Manifest {
    /// The manifest of a copy of the index.
    pub(crate) fn of(copy: &std::path::Path, mut files: Vec<FileEntry>) -> Result<Self, CheckpointError> {
        let reader = Reader::open(copy)?;
        let view: View<'_> = reader.view()?;
        let tip = *view.tip();
        files.sort_unstable();
        let now = u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX);
        Ok(Manifest {
            form: FORM,
            program: format!("cairn {}", env!("CARGO_PKG_VERSION")),
            made_at: rfc3339(now),
            network: view.network().name().to_owned(),
            signet_challenge: view.facts().challenge.map(|challenge| challenge.to_hex().to_owned()),
            tip_height: tip.height,
            tip_hash: tip.hash.to_string(),
            event_seq: tip.seq,
            files,
        })
    }

    /// Reads a manifest; `place` is where it was.
    ///
    /// # Errors
    /// Fails if it is not a manifest, is of another form, or names a path outside of the checkpoint.
    pub(crate) fn parse(text: &[u8], place: &str) -> Result<Self, CheckpointError> {
        let wrong = |what: String| CheckpointError::Manifest { place: place.to_owned(), what };
        let manifest: Manifest =
            serde_json::from_slice(text).map_err(|e| wrong(format!("not the manifest of a checkpoint: {e}")))?;
        if manifest.form != FORM {
            return Err(wrong(format!("it has form {}, this program reads {FORM}", manifest.form)));
        }
        if let Some(Err(error)) = manifest.signet_challenge.as_ref().map(|hex| hex.parse::<SignetChallenge>()) {
            return Err(wrong(format!("signet_challenge: {error}")));
        }
        // A restore writes to these paths.
        let is_inside = |path: &str| {
            let parts: Vec<&str> = path.split('/').collect();
            !path.starts_with('/') && parts.iter().all(|part| !part.is_empty() && *part != "." && *part != "..")
        };
        if let Some(file) = manifest.files.iter().find(|file| !is_inside(&file.path)) {
            return Err(wrong(format!("it names a path outside of the folder: {:?}", file.path)));
        }
        let mut paths = std::collections::HashSet::new();
        if let Some(file) = manifest.files.iter().find(|file| !paths.insert(&file.path)) {
            return Err(wrong(format!("it names {:?} twice", file.path)));
        }
        // Lengths are added up.
        if manifest.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.bytes)).is_none() {
            return Err(wrong("its files have more bytes than a number holds".to_owned()));
        }
        // Hashes become names of objects.
        let is_hash = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(file) = manifest.files.iter().find(|file| !file.pieces.iter().all(is_hash)) {
            return Err(wrong(format!("{:?} has a hash that is not a SHA-256", file.path)));
        }
        for file in &manifest.files {
            let pieces = pieces_of(file.bytes);
            if file.pieces.len() as u64 != pieces {
                let has = file.pieces.len();
                return Err(wrong(format!(
                    "the number of hashes of {:?} is {has}; for {} bytes it is {pieces}",
                    file.path, file.bytes
                )));
            }
        }
        Ok(manifest)
    }

    pub(crate) fn text(&self) -> Result<String, CheckpointError> {
        let text = serde_json::to_string_pretty(self);
        let wrong =
            |e: serde_json::Error| CheckpointError::Manifest { place: CHECKPOINT.to_owned(), what: e.to_string() };
        text.map(|text| text + "\n").map_err(wrong)
    }

    /// The network in a message; of a custom signet, with its challenge.
    #[must_use]
    pub fn network_name(&self) -> String {
        let challenge = self.signet_challenge.as_ref().and_then(|hex| hex.parse().ok());
        challenge.map_or_else(|| self.network.clone(), |challenge| ChainParams::signet(challenge).to_string())
    }

    /// True if both are copies of indexes of the same network, and of the same signet.
    pub(crate) fn is_of_network_of(&self, other: &Self) -> bool {
        (&self.network, &self.signet_challenge) == (&other.network, &other.signet_challenge)
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The manifest in one line, for a signature.
    pub(crate) fn line(&self) -> String {
        format!("cairn checkpoint {} {} {} {}", self.network, self.tip_height, self.tip_hash, self.made_at)
    }
}
