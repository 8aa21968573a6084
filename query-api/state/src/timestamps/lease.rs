//! The lease of the one process that anchors. Every write of that process names its fencing number and is refused as
//! soon as another process holds the lease.

use crate::{State, StateError, keys::to_stored, pool::on};

/// The lease, as its holder has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorLease {
    /// The network in whose chain the holder anchors.
    pub network: String,
    /// Name of the holder, which no other process has.
    pub holder: String,
    /// Its fencing number.
    pub fence: i64,
    /// When it ends unless it is renewed, in seconds since 1970.
    pub expires_at: u64,
}

// A holder that renews keeps its number, also after the end if nobody else took the lease.
const ACQUIRE: &str = "INSERT INTO timestamp_leases (network, holder, fence, expires_at) VALUES ($1, $2, 1, $3) \
    ON CONFLICT (network) DO UPDATE SET fence = CASE WHEN timestamp_leases.holder = excluded.holder \
    THEN timestamp_leases.fence ELSE timestamp_leases.fence + 1 END, holder = excluded.holder, \
    expires_at = excluded.expires_at WHERE timestamp_leases.holder = excluded.holder OR timestamp_leases.expires_at <= $4 \
    RETURNING fence";
const RELEASE: &str = "UPDATE timestamp_leases SET expires_at = 0 WHERE network = $1 AND holder = $2 AND fence = $3";

/// The fencing number of the present holder.
pub(crate) const FENCE: &str = "SELECT fence FROM timestamp_leases WHERE network = $1 AND holder = $2";
/// The same in PostgreSQL: nobody else takes the lease before the transaction ends.
pub(crate) const FENCE_LOCKED: &str =
    "SELECT fence FROM timestamp_leases WHERE network = $1 AND holder = $2 FOR UPDATE";

/// Runs statements in a transaction of the holder of a lease. A macro, because the types of the two databases have no
/// common trait.
macro_rules! under_lease {
    ($state:expr, $lease:expr, $what:literal, $tx:ident => $run:expr) => {{
        $state.ready().await?;
        match &$state.pool {
            $crate::pool::SqlPool::Sqlite(pool) => {
                let begun = pool.begin_with("BEGIN IMMEDIATE").await;
                $crate::timestamps::lease::in_turn!(begun, $crate::timestamps::lease::FENCE, $lease, $what, $tx => $run)
            }
            $crate::pool::SqlPool::Postgres(pool) => {
                let begun = pool.begin().await;
                $crate::timestamps::lease::in_turn!(begun, $crate::timestamps::lease::FENCE_LOCKED, $lease, $what, $tx => $run)
            }
        }
    }};
}
pub(crate) use under_lease;

/// The body of [`under_lease`] for one of the databases.
macro_rules! in_turn {
    ($begun:expr, $fence:expr, $lease:expr, $what:literal, $tx:ident => $run:expr) => {{
        let mut $tx = $begun.map_err($crate::StateError::database($what))?;
        let held: Option<i64> = sqlx::query_scalar($fence)
            .bind(&$lease.network)
            .bind(&$lease.holder)
            .fetch_optional(&mut *$tx)
            .await
            .map_err($crate::StateError::database($what))?;
        if held != Some($lease.fence) {
            return Err($crate::StateError::LeaseLost);
        }
        let done = $run;
        $tx.commit().await.map_err($crate::StateError::database($what))?;
        done
    }};
}
pub(crate) use in_turn;

impl State {
    /// Takes the lease of a network for `ttl_secs`, or renews it for the process that holds it. Returns `None` while
    /// another process holds it. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the time is out of range.
    pub async fn acquire_anchor_lease(
        &self,
        network: &str,
        holder: &str,
        ttl_secs: u64,
        now: u64,
    ) -> Result<Option<AnchorLease>, StateError> {
        let expires_at = now.saturating_add(ttl_secs);
        let (end, at) = (to_stored(expires_at)?, to_stored(now)?);
        self.ready().await?;
        let fence: Option<i64> = on!(&self.pool, pool => {
            sqlx::query_scalar(ACQUIRE).bind(network).bind(holder).bind(end).bind(at).fetch_optional(pool).await
        })
        .map_err(StateError::database("cannot give the lease of the anchorer"))?;
        let (network, holder) = (network.to_owned(), holder.to_owned());
        Ok(fence.map(|fence| AnchorLease { network, holder, fence, expires_at }))
    }

    /// Gives the lease back, so that another process need not wait for its end. Does nothing if another one holds it.
    pub async fn release_anchor_lease(&self, lease: &AnchorLease) -> Result<(), StateError> {
        self.ready().await?;
        on!(&self.pool, pool => {
            let release = sqlx::query(RELEASE).bind(&lease.network).bind(&lease.holder).bind(lease.fence);
            release.execute(pool).await.map(drop)
        })
        .map_err(StateError::database("cannot take the lease of the anchorer back"))
    }
}
