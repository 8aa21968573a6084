//! A lease: an object that says that one process writes to a place of a store.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::{Store, StoreError};

/// A lease that is not renewed for this time has no holder.
const LASTS: Duration = Duration::from_secs(15 * 60);

/// Attempts to take it.
const ATTEMPTS: u32 = 3;

/// Identity of the holder of a lease: kept in a file, so that a process that goes on with the work of one that was
/// killed is the same holder. Other processes of this machine have to be kept away by a lock.
pub fn identity(file: &Path) -> Result<String, StoreError> {
    let found = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        found => found.map_err(StoreError::at(file))?,
    };
    if !found.trim().is_empty() {
        return Ok(found.trim().to_owned());
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let seed = format!("{now} {} {}", std::process::id(), file.display());
    let made = hex::encode(&Sha256::digest(seed)[..16]);
    fs::write(file, format!("{made}\n")).map_err(StoreError::at(file))?;
    Ok(made)
}

/// Held by the one process that writes to a place of a store.
pub struct Lease<'s> {
    store: &'s Store,
    name: String,
    text: String,
    renewed: Mutex<Instant>,
    /// True if it is given back when it is dropped.
    ends: bool,
}

impl<'s> Lease<'s> {
    /// Takes the lease with this name. `text` names the holder; a lease with the same text is this holder's: see
    /// [`identity`]. It is given back when it is dropped.
    pub fn take(store: &'s Store, name: &str, text: &str) -> Result<Self, StoreError> {
        Self::begin(store, name, text, true)
    }

    /// The same, for work that is resumed: it stays until [`Lease::end`].
    pub fn resume(store: &'s Store, name: &str, text: &str) -> Result<Self, StoreError> {
        Self::begin(store, name, text, false)
    }

    fn begin(store: &'s Store, name: &str, text: &str, ends: bool) -> Result<Self, StoreError> {
        let ours =
            || Lease { store, name: name.to_owned(), text: text.to_owned(), renewed: Mutex::new(Instant::now()), ends };
        let mut failed = None;
        for _ in 0..ATTEMPTS {
            match store.create(name, text.as_bytes().to_vec()) {
                Ok(true) => return Ok(ours()),
                Ok(false) => {}
                // The answer may have been lost: the stored object decides.
                Err(error @ StoreError::Failed { .. }) => failed = Some(error),
                Err(error) => return Err(error),
            }
            let Some(found) = store.find(name)? else { continue };
            let holder = store.read(name, 4096)?.unwrap_or_default();
            if holder == text.as_bytes() {
                store.write(name, holder)?;
                return Ok(ours());
            }
            let age = SystemTime::now().duration_since(found.modified).unwrap_or_default();
            if age < LASTS {
                return Err(StoreError::Taken(format!(
                    "{}: another process writes there ({}). If it was killed, wait {} minutes, or remove this object",
                    store.shown(name),
                    String::from_utf8_lossy(&holder).trim(),
                    (LASTS - age).as_secs().div_ceil(60)
                )));
            }
            store.remove(name)?;
        }
        let taken = || StoreError::Taken(format!("{}: another process has just taken it", store.shown(name)));
        Err(failed.unwrap_or_else(taken))
    }

    /// Gives it back: the work is done.
    pub fn end(self) -> Result<(), StoreError> {
        self.store.remove(&self.name)
    }

    /// Renews it if that is due. Callers call it often.
    pub fn renew(&self) -> Result<(), StoreError> {
        let mut renewed = self.renewed.lock();
        if renewed.elapsed() > LASTS / 5 {
            self.store.write(&self.name, self.text.clone().into_bytes())?;
            *renewed = Instant::now();
        }
        Ok(())
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.ends {
            self.store.remove_soon(&self.name);
        }
    }
}
