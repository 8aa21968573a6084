//! The folder or store that a subcommand of `cairn snapshot` names.

use std::path::Path;

use cairn_model::CancelToken;
use cairn_store::Store;

use crate::{
    cli::{SnapshotLocation, StoreArgs},
    exit::Failure,
};

/// A folder, or a store that is open.
pub(super) enum Opened<'a> {
    Folder(&'a Path),
    Store(Store),
}

impl<'a> Opened<'a> {
    pub(super) fn of(place: &'a SnapshotLocation, store: StoreArgs, cancel: &CancelToken) -> Result<Self, Failure> {
        Ok(match place {
            SnapshotLocation::Folder(folder) => Opened::Folder(folder),
            SnapshotLocation::Store(location) => Opened::Store(Store::open(location, &store.options(), cancel)?),
        })
    }
}
