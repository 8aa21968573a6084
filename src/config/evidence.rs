//! Keys of evidence packs.

use std::{fs, path::PathBuf, sync::Arc};

use cairn_domain::evidence::{SecretKey, parse, read_keys};
use cairn_operations::EvidenceConfig;
use clap::Args;

use crate::exit::Failure;

/// Keys of evidence packs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Evidence {
    /// File with the secret Ed25519 key that signs evidence packs (PKCS#8 PEM, as `openssl genpkey -algorithm ed25519`
    /// writes it). Default: packs are not signed.
    #[arg(long, env = "CAIRN_EVIDENCE_KEY_FILE", value_name = "FILE")]
    pub(crate) evidence_key_file: Option<PathBuf>,
    /// File with public keys that /.well-known/cairn-evidence-keys.json also lists, in the form of that document: keys
    /// that signed earlier packs, with `valid_from` and `valid_to`. The entry of the present key sets its times.
    #[arg(long, env = "CAIRN_EVIDENCE_OLD_KEYS", value_name = "FILE")]
    pub(crate) evidence_old_keys: Option<PathBuf>,
}

impl Evidence {
    /// Reads the keys.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if a key in it is of another kind.
    pub(crate) fn config(&self) -> Result<EvidenceConfig, Failure> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("{}: cannot be read: {error}", path.display())))
        };
        let key = self.evidence_key_file.as_ref().map(|path| {
            let key = SecretKey::from_pem(&read(path)?);
            key.map(Arc::new).map_err(|error| {
                Failure::usage(format!("{}: {error}", path.display()))
                    .hint("set --evidence-key-file to a file that `openssl genpkey -algorithm ed25519 -out FILE` makes")
            })
        });
        let keys = self.evidence_old_keys.as_ref().map(|path| {
            let document = parse(read(path)?.as_bytes()).map_err(|error| error.to_string());
            document.and_then(|document| read_keys(&document)).map_err(|error| {
                Failure::usage(format!("{}: {error}", path.display()))
                    .hint("set --evidence-old-keys to a copy of /.well-known/cairn-evidence-keys.json")
            })
        });
        Ok(EvidenceConfig { key: key.transpose()?, keys: keys.transpose()?.unwrap_or_default() })
    }
}
