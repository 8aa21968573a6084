-- What did the coins cost when they last moved? Realized capitalization in USD, by the year in which the coins were made.
--
-- Each unspent coin counts its value times the close, in USD, of the UTC day on which it was made. The close of a day is
-- the daily candle that closes at the next midnight. Coins of the newest block's day, if that has no close yet, count the last
-- close. Coins that are older than the first price count zero and are `unpriced_sats`. `gap_sats` are coins of a day inside the
-- series without a close: if there are any, the sum is too low (and the API's figure is null). Lost coins count.
--
-- The API: the sum over all years is `realized_cap_usd` of /v1/onchain, which rounds down to cents; `unpriced_sats` likewise.
-- Definition: realized-cap.
WITH closes AS (
    SELECT day, CAST(close AS DECIMAL(18, 8)) AS close
    FROM prices
    WHERE base = 'BTC' AND quote = 'USD' AND candle = 'day'
), series AS (
    SELECT min(day) AS first_day, max(day) AS last_day FROM closes
), tip AS (
    SELECT max(day) AS day FROM blocks
), coins_by_day AS (
    SELECT birth_day, SUM(change_sats) AS sats
    FROM supply_changes
    GROUP BY birth_day
    HAVING SUM(change_sats) <> 0
), priced AS (
    SELECT c.birth_day, CAST(c.sats AS DECIMAL(19, 0)) AS sats, p.close, c.birth_day < s.first_day AS is_older
    FROM coins_by_day c
    CROSS JOIN series s
    CROSS JOIN tip
    LEFT JOIN closes p ON p.day = CASE WHEN c.birth_day = tip.day AND c.birth_day > s.last_day THEN s.last_day ELSE c.birth_day END
)
SELECT
    CAST(extract(YEAR FROM birth_day) AS INT) AS birth_year,
    CAST(SUM(sats) AS BIGINT) AS sats,
    CAST(SUM(CASE WHEN is_older THEN sats ELSE 0 END) AS BIGINT) AS unpriced_sats,
    CAST(SUM(CASE WHEN close IS NULL AND NOT is_older THEN sats ELSE 0 END) AS BIGINT) AS gap_sats,
    CAST(COALESCE(SUM(sats * close), 0) AS DOUBLE) / 1E8 AS realized_cap_usd
FROM priced
GROUP BY extract(YEAR FROM birth_day)
ORDER BY birth_year
