//! The lease of the one process that anchors. Every write of that process names its fencing number and is refused as
//! soon as another process holds the lease.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::{SqlTx, sql},
};

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
const FENCE: &str = "SELECT fence FROM timestamp_leases WHERE network = $1 AND holder = $2";
/// The same in PostgreSQL: nobody else takes the lease before the transaction ends.
const FENCE_LOCKED: &str = "SELECT fence FROM timestamp_leases WHERE network = $1 AND holder = $2 FOR UPDATE";

impl State {
    /// Begins a transaction of the holder of a lease.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub(super) async fn begin_under(
        &self,
        lease: &AnchorLease,
        what: &'static str,
    ) -> Result<SqlTx<'static>, StateError> {
        self.ready().await?;
        let mut tx = self.pool.begin_writing(what).await?;
        let fence = if matches!(tx, SqlTx::Sqlite(_)) { FENCE } else { FENCE_LOCKED };
        let held: Option<i64> = sql(fence).bind(&lease.network).bind(&lease.holder).first_value(&mut tx, what).await?;
        if held == Some(lease.fence) { Ok(tx) } else { Err(StateError::LeaseLost) }
    }

    /// Takes the lease of a network for `ttl_secs`, or renews it for the process that holds it. Returns `None` while
    /// another process holds it. `now` is in seconds since 1970.
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
        let fence: Option<i64> = sql(ACQUIRE)
            .bind(network)
            .bind(holder)
            .bind(end)
            .bind(at)
            .first_value(&self.pool, "cannot give the lease of the anchorer")
            .await?;
        let (network, holder) = (network.to_owned(), holder.to_owned());
        Ok(fence.map(|fence| AnchorLease { network, holder, fence, expires_at }))
    }

    /// Gives the lease back, so that another process need not wait for its end. Does nothing if another one holds it.
    pub async fn release_anchor_lease(&self, lease: &AnchorLease) -> Result<(), StateError> {
        self.ready().await?;
        let release = sql(RELEASE).bind(&lease.network).bind(&lease.holder).bind(lease.fence);
        release.run(&self.pool, "cannot take the lease of the anchorer back").await.map(drop)
    }
}
