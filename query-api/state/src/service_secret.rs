//! Random keys of the service. Every server of the same database knows them, so data authenticated by one needs no row
//! of its own.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{State, StateError, pool::sql, random::random};

const INSERT: &str = "INSERT INTO service_secrets (name, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const ONE: &str = "SELECT secret FROM service_secrets WHERE name = $1";

/// A key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceSecret([u8; 32]);

impl ServiceSecret {
    /// The key.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(ServiceSecret(bytes))
    }

    /// HMAC-SHA256 (RFC 2104) of parts, each with its length before it, in hex. Without the key, nobody can compute it.
    #[must_use]
    pub fn mac(&self, parts: &[&str]) -> String {
        let pad = |byte: u8| {
            let mut block = [byte; 64];
            block.iter_mut().zip(self.0).for_each(|(out, key)| *out ^= key);
            block
        };
        let mut inner = Sha256::new();
        inner.update(pad(0x36));
        for part in parts {
            inner.update((part.len() as u64).to_be_bytes());
            inner.update(part);
        }
        let mut outer = Sha256::new();
        outer.update(pad(0x5c));
        outer.update(inner.finalize());
        hex::encode(outer.finalize())
    }
}

impl fmt::Debug for ServiceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceSecret")
    }
}

impl State {
    /// The key with this name; the first call makes it.
    pub async fn service_secret(&self, name: &str) -> Result<ServiceSecret, StateError> {
        self.ready().await?;
        let what = "cannot read a key of the service";
        let read =
            async || -> Result<Option<String>, StateError> { sql(ONE).bind(name).first_value(&self.reads, what).await };
        let found = match read().await? {
            Some(found) => found,
            None => {
                let insert = sql(INSERT).bind(name).bind(hex::encode(random::<32>()?));
                insert.run(&self.pool, "cannot write a key of the service").await?;
                self.changed().await;
                // Another server may have been first: its key holds.
                read().await?.ok_or_else(|| StateError::Row(format!("the key {name} is gone")))?
            }
        };
        ServiceSecret::from_hex(&found).ok_or_else(|| StateError::Row(format!("the key {name} is damaged")))
    }
}
