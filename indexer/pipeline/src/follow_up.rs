//! Brings the families of tables to the tip that are derived from those of the stages. Each has a folder with its
//! follower inside.
//!
//! | family | folder | follows |
//! |---|---|---|
//! | labels and entities | `labels` | in the commit of each block; after each document (`Engine::follow_claims`) |
//! | late stages | `late` | block by block, in commits after those of the blocks |
//! | watchlist | `watchlist` | made again after a day's blocks |
//! | flows of exchanges | `exchanges` | made again after a day's blocks; rows of the blocks since |

use crate::{Engine, PipelineError, Progress};

impl Engine {
    /// Brings all to the tip that follows the chain after its blocks: the late stages, the watchlist and the flows of
    /// exchanges. `waits`: for the latter two, too, which are made in threads otherwise. Returns whether it wrote
    /// anything, which is durable with the next [`Engine::settle`].
    ///
    /// # Errors
    /// As [`Engine::follow_late`].
    pub fn follow_up(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        let late = self.follow_late(progress)?;
        let watchlist = self.follow_watchlist(progress, waits)?;
        Ok(late | watchlist | self.follow_flows(progress, waits)?)
    }
}
