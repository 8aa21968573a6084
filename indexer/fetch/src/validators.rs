//! A server's validators of a document, with which a later request can ask whether it has changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cairn_events::DocumentHash;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Url;

/// Folder of these files in the data folder.
const FOLDER: &str = "fetched";
/// Longest value that is stored.
const LONGEST: usize = 1_000;
/// Longest file that is read.
const LONGEST_FILE: u64 = 16 << 10;

/// ETag and Last-Modified of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Validators {
    /// ETag.
    pub etag: Option<String>,
    /// Last-Modified.
    pub last_modified: Option<String>,
}

impl Validators {
    /// True if there is nothing to ask with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Only what fits into a header.
    fn sound(self) -> Self {
        let is_sound = |text: &String| text.len() <= LONGEST && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        Validators { etag: self.etag.filter(is_sound), last_modified: self.last_modified.filter(is_sound) }
    }
}

/// Data that is stored of the last fetch of a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FetchRecord {
    /// Validators for the next request.
    pub validators: Validators,
    /// Hash of the document that was handed in.
    pub document: DocumentHash,
    /// When it was fetched, in seconds since 1970.
    pub fetched_at: u32,
}

/// Its form in the file. The URL is there for people, without its secrets.
#[derive(Serialize, Deserialize)]
struct File {
    url: String,
    #[serde(flatten)]
    validators: Validators,
    document: String,
    fetched_at: u32,
}

/// The file of a URL. Its name is a hash, since a URL may have secrets.
fn path(datadir: &Path, url: &Url) -> PathBuf {
    let hash = hex::encode(Sha256::digest(url.whole().as_bytes()));
    datadir.join(FOLDER).join(format!("{}.json", &hash[..32]))
}

impl FetchRecord {
    /// Reads the record of the last fetch of a URL; `None` if there is none, or none that can be read.
    #[must_use]
    pub fn load(datadir: &Path, url: &Url) -> Option<Self> {
        let path = path(datadir, url);
        if fs::metadata(&path).ok()?.len() > LONGEST_FILE {
            return None;
        }
        let file: File = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        let mut hash = [0; 32];
        hex::decode_to_slice(&file.document, &mut hash).ok()?;
        let File { validators, fetched_at, .. } = file;
        Some(FetchRecord { validators: validators.sound(), document: DocumentHash(hash), fetched_at })
    }

    /// Writes the record, which a later fetch of the URL can use.
    pub fn store(&self, datadir: &Path, url: &Url) -> io::Result<()> {
        let path = path(datadir, url);
        let folder = datadir.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let file = File {
            url: url.shown(),
            validators: self.validators.clone().sound(),
            document: self.document.to_string(),
            fetched_at: self.fetched_at,
        };
        let part = path.with_extension("part");
        fs::write(&part, serde_json::to_vec_pretty(&file)?)?;
        fs::rename(&part, &path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_without_secrets() {
        let dir = cairn_testkit::temp_dir();
        let url: Url = "https://x/a?token=hunter2".parse().unwrap();
        assert_eq!(FetchRecord::load(dir.path(), &url), None);
        let etag = Some("W/\"a\"".to_owned());
        let record = FetchRecord {
            validators: Validators { etag, last_modified: Some("x".repeat(1_001)) },
            document: DocumentHash([7; 32]),
            fetched_at: 5,
        };
        record.store(dir.path(), &url).unwrap();
        let back = FetchRecord::load(dir.path(), &url).unwrap();
        assert_eq!((back.validators.etag, back.validators.last_modified), (record.validators.etag, None));
        assert_eq!((back.document, back.fetched_at), (record.document, 5));
        assert_eq!(FetchRecord::load(dir.path(), &"https://x/a?token=other".parse().unwrap()), None);
        let file = fs::read_dir(dir.path().join(FOLDER)).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("hunter2") && !file.display().to_string().contains("hunter2"), "{text}");
        fs::write(&file, "{").unwrap();
        assert_eq!(FetchRecord::load(dir.path(), &url), None);
    }
}
