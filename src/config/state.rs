//! Location of the service state.

use std::{fmt, str::FromStr};

use cairn_state::StateUrl;
use clap::Args;

use super::IndexDir;
use crate::exit::Failure;

/// The database of the service state.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateDb {
    /// Database of the service state (keys, sessions, feedback and approvals): sqlite:FILE or
    /// postgres://user:password@host/database. Default: state.sqlite in the data folder. If the URL has a password, set
    /// it in the environment or in cairn.toml: other users can see the command line.
    #[arg(long, env = "CAIRN_STATE_URL", value_name = "URL", hide_env_values = true)]
    state_url: Option<Hidden>,
}

/// A text that `Debug` does not show.
#[derive(Clone)]
pub(super) struct Hidden(pub(super) String);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Hidden(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("********")
    }
}

impl StateDb {
    /// The configured database; `None` if none is.
    pub(crate) fn named(&self) -> Result<Option<StateUrl>, Failure> {
        Ok(self.state_url.as_ref().map(|Hidden(text)| StateUrl::from_str(text)).transpose()?)
    }

    /// The configured database, otherwise the one in the data folder, if that is there.
    pub(crate) fn existing(&self, index: &IndexDir) -> Result<Option<StateUrl>, Failure> {
        let url = self.url(index)?;
        Ok(Some(url).filter(|url| self.state_url.is_some() || url.exists()))
    }

    /// The configured database, otherwise the one in the data folder.
    ///
    /// # Errors
    /// Fails if neither is set, or the URL is invalid.
    pub(crate) fn url(&self, index: &IndexDir) -> Result<StateUrl, Failure> {
        match self.named()? {
            Some(url) => Ok(url),
            None => Ok(StateUrl::in_folder(index.datadir()?)),
        }
    }
}
