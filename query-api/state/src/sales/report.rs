//! Sums of what was sold.

use crate::{State, StateError, keys::to_stored, pool::on};

/// Maximum number of days of a report.
pub const MAX_SALES_DAYS: u64 = 400;
const DAY_SECS: u64 = 86_400;

/// How a call was paid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SalesMethod {
    /// Over Lightning; amounts are in satoshis.
    L402,
    /// By a token; amounts are in its smallest unit.
    X402 {
        /// Number of the chain (EIP-155).
        chain_id: u64,
        /// Address of the token.
        asset: String,
    },
}

impl SalesMethod {
    /// Its name in small letters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            SalesMethod::L402 => "l402",
            SalesMethod::X402 { .. } => "x402",
        }
    }

    /// The unit of its amounts: `sats`, or chain and token, for example `eip155:8453/0x…`.
    #[must_use]
    pub fn unit(&self) -> String {
        match self {
            SalesMethod::L402 => "sats".to_owned(),
            SalesMethod::X402 { chain_id, asset } => format!("eip155:{chain_id}/{asset}"),
        }
    }
}

/// The sales of one capability on one day by one method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalesRow {
    /// Begin of the day (UTC), in seconds since 1970.
    pub day: u64,
    /// Name of the capability.
    pub capability: String,
    /// How the calls were paid.
    pub method: SalesMethod,
    /// Number of calls.
    pub count: u64,
    /// The sum, in the unit of the method.
    pub amount: u64,
}

/// Numbers of sales that are not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SalesCounts {
    /// Challenges that can be paid.
    pub open_challenges: u64,
    /// Payments whose outcome nobody knows.
    pub open_settlements: u64,
    /// Payments that are settled, and whose answer was not given out.
    pub owed_payments: u64,
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM l402_challenges WHERE redeemed_at IS NULL AND expires_at > $1), \
    (SELECT count(*) FROM x402_payments WHERE state IN ('settling', 'unknown') \
    AND (state = 'unknown' OR leased_until <= $1)), \
    (SELECT count(*) FROM x402_payments WHERE state = 'settled' AND delivered_at IS NULL)";
const L402: &str = "SELECT sold_at / 86400 AS day, capability, CAST(0 AS BIGINT), '', count(*), \
    CAST(sum(price_sats) AS BIGINT) FROM l402_challenges WHERE sold_at IS NOT NULL AND sold_at >= $1 AND sold_at < $2 \
    GROUP BY 1, 2 ORDER BY 1, 2";
const X402: &str = "SELECT settled_at / 86400 AS day, capability, chain_id, asset, count(*), \
    CAST(sum(amount) AS BIGINT) FROM x402_payments WHERE state = 'settled' AND settled_at >= $1 AND settled_at < $2 \
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";

/// A row as the database returns it: day, capability, chain, token, number and sum.
type Summed = (i64, String, i64, String, i64, i64);

fn row_of((day, capability, chain_id, asset, count, amount): Summed, is_l402: bool) -> Result<SalesRow, StateError> {
    let bad = |_| StateError::Row("a sum of sales is invalid".to_owned());
    let number = |number: i64| u64::try_from(number).map_err(bad);
    let chain_id = number(chain_id)?;
    Ok(SalesRow {
        day: number(day)?.saturating_mul(DAY_SECS),
        capability,
        method: if is_l402 { SalesMethod::L402 } else { SalesMethod::X402 { chain_id, asset } },
        count: number(count)?,
        amount: number(amount)?,
    })
}

impl State {
    /// Counts what is not done at `now` (seconds since 1970).
    ///
    /// # Errors
    /// Fails if the time is out of range.
    pub async fn sales_counts(&self, now: u64) -> Result<SalesCounts, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let (challenges, settlements, owed): (i64, i64, i64) =
            on!(&self.reads, pool => sqlx::query_as(COUNTS).bind(at).fetch_one(pool).await)
                .map_err(StateError::database("cannot count the sales"))?;
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        Ok(SalesCounts {
            open_challenges: number(challenges),
            open_settlements: number(settlements),
            owed_payments: number(owed),
        })
    }

    /// Sums of what was redeemed or settled from the day of `from` to the day of `until`, both included (seconds since
    /// 1970), by day, capability and method, in this order. A sale counts on the day of its first redemption, also if
    /// an operator opened it again.
    ///
    /// # Errors
    /// Fails if the range has no day or more than [`MAX_SALES_DAYS`].
    pub async fn sales_report(&self, from: u64, until: u64) -> Result<Vec<SalesRow>, StateError> {
        let (first, last) = (from / DAY_SECS, until / DAY_SECS);
        if last.checked_sub(first).is_none_or(|days| days >= MAX_SALES_DAYS) {
            return Err(StateError::SalesRange);
        }
        let begin = to_stored(first.saturating_mul(DAY_SECS))?;
        let end = to_stored(last.saturating_add(1).saturating_mul(DAY_SECS))?;
        self.ready().await?;
        let mut all = Vec::new();
        for (sql, is_l402) in [(L402, true), (X402, false)] {
            let rows: Vec<Summed> =
                on!(&self.reads, pool => sqlx::query_as(sql).bind(begin).bind(end).fetch_all(pool).await)
                    .map_err(StateError::database("cannot sum up the sales"))?;
            for row in rows {
                all.push(row_of(row, is_l402)?);
            }
        }
        all.sort_by(|a, b| (a.day, &a.capability, &a.method).cmp(&(b.day, &b.capability, &b.method)));
        Ok(all)
    }
}
