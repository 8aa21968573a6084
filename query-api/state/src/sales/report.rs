//! Sums of what was sold.

use crate::{State, StateError, keys::to_stored, pool::sql, sales::limits::MAX_SALES_DAYS};

const DAY_SECS: u64 = 86_400;

/// How a call or a pass was paid.
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
    /// A pass, over Lightning; amounts are in satoshis.
    PassOverLightning,
    /// A pass, on chain; amounts are in satoshis.
    PassOnChain,
}

impl SalesMethod {
    /// Its name in small letters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            SalesMethod::L402 => "l402",
            SalesMethod::X402 { .. } => "x402",
            SalesMethod::PassOverLightning => "lightning",
            SalesMethod::PassOnChain => "onchain",
        }
    }

    /// The unit of its amounts: `sats`, or chain and token, for example `eip155:8453/0x…`.
    #[must_use]
    pub fn unit(&self) -> String {
        match self {
            SalesMethod::L402 | SalesMethod::PassOverLightning | SalesMethod::PassOnChain => "sats".to_owned(),
            SalesMethod::X402 { chain_id, asset } => format!("eip155:{chain_id}/{asset}"),
        }
    }
}

/// The sales of one capability, or of one plan of passes, on one day by one method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalesRow {
    /// Begin of the day (UTC), in seconds since 1970.
    pub day: u64,
    /// Name of the capability or of the plan.
    pub capability: String,
    /// How they were paid.
    pub method: SalesMethod,
    /// Number of calls or passes.
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
    /// Checkouts that can be paid.
    pub open_checkouts: u64,
    /// Passes that are suspended because the chain lacks their payment.
    pub reverted_passes: u64,
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM l402_challenges WHERE redeemed_at IS NULL AND expires_at > $1), \
    (SELECT count(*) FROM x402_payments WHERE state IN ('settling', 'unknown') \
    AND (state = 'unknown' OR leased_until <= $1)), \
    (SELECT count(*) FROM x402_payments WHERE state = 'settled' AND delivered_at IS NULL), \
    (SELECT count(*) FROM checkouts WHERE first_paid_at IS NULL AND expires_at > $1), \
    (SELECT count(*) FROM checkouts WHERE first_paid_at IS NOT NULL AND reverted_at IS NOT NULL)";
const L402: &str = "SELECT sold_at / 86400 AS day, capability, CAST(0 AS BIGINT), '', count(*), \
    CAST(sum(price_sats) AS BIGINT) FROM l402_challenges WHERE sold_at IS NOT NULL AND sold_at >= $1 AND sold_at < $2 \
    GROUP BY 1, 2 ORDER BY 1, 2";
const X402: &str = "SELECT settled_at / 86400 AS day, capability, chain_id, asset, count(*), \
    CAST(sum(amount) AS BIGINT) FROM x402_payments WHERE state = 'settled' AND settled_at >= $1 AND settled_at < $2 \
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
// A pass whose payment is gone is not sold; it counts again, on the same day, once the payment is back.
const PASSES: &str = "SELECT first_paid_at / 86400 AS day, plan, CAST(0 AS BIGINT), method, count(*), \
    CAST(sum(price_sats) AS BIGINT) FROM checkouts WHERE first_paid_at IS NOT NULL AND reverted_at IS NULL \
    AND first_paid_at >= $1 AND first_paid_at < $2 GROUP BY 1, 2, 4 ORDER BY 1, 2, 4";

/// A row as the database returns it: day, capability or plan, chain, token or method of a pass, number and sum.
type Summed = (i64, String, i64, String, i64, i64);

/// The table that a row sums up.
#[derive(Clone, Copy)]
enum Sold {
    L402,
    X402,
    Passes,
}

fn row_of((day, capability, chain_id, detail, count, amount): Summed, sold: Sold) -> Result<SalesRow, StateError> {
    let bad = || StateError::Row("a sum of sales is invalid".to_owned());
    let number = |number: i64| u64::try_from(number).map_err(|_| bad());
    let method = match (sold, detail.as_str()) {
        (Sold::L402, _) => SalesMethod::L402,
        (Sold::X402, _) => SalesMethod::X402 { chain_id: number(chain_id)?, asset: detail },
        (Sold::Passes, "lightning") => SalesMethod::PassOverLightning,
        (Sold::Passes, "onchain") => SalesMethod::PassOnChain,
        (Sold::Passes, _) => return Err(bad()),
    };
    Ok(SalesRow {
        day: number(day)?.saturating_mul(DAY_SECS),
        capability,
        method,
        count: number(count)?,
        amount: number(amount)?,
    })
}

impl State {
    /// Counts what is not done at `now` (seconds since 1970).
    pub async fn sales_counts(&self, now: u64) -> Result<SalesCounts, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let (challenges, settlements, owed, checkouts, reverted): (i64, i64, i64, i64, i64) =
            sql(COUNTS).bind(at).row(&self.reads, "cannot count the sales").await?;
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        Ok(SalesCounts {
            open_challenges: number(challenges),
            open_settlements: number(settlements),
            owed_payments: number(owed),
            open_checkouts: number(checkouts),
            reverted_passes: number(reverted),
        })
    }

    /// Sums of what was redeemed, settled or bought from the day of `from` to the day of `until`, both included
    /// (seconds since 1970), by day, capability and method, in this order. A sale counts on the day of its first
    /// redemption, also if an operator opened it again. A pass counts with its price on the day that it begins, unless
    /// its payment is gone.
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
        for (sums, sold) in [(L402, Sold::L402), (X402, Sold::X402), (PASSES, Sold::Passes)] {
            let rows: Vec<Summed> = sql(sums).bind(begin).bind(end).all(&self.reads, "cannot sum up the sales").await?;
            for row in rows {
                all.push(row_of(row, sold)?);
            }
        }
        all.sort_by(|a, b| (a.day, &a.capability, &a.method).cmp(&(b.day, &b.capability, &b.method)));
        Ok(all)
    }
}
