-- What do transactions pay? Fees and feerates by day.
--
-- The feerate of a transaction is its fee divided by its virtual size: a quarter of its weight, rounded up. The mean is that of
-- all bytes: all fees divided by a quarter of all weights. The median is that of transactions, each counted once, whatever its
-- size; of an even number of transactions, the mean of the two in the middle. Coinbases pay no fee and do not count. Days
-- without payments are not listed.
--
-- The API: `fees_sats` of /v1/onchain (from, to). By block: `average_fee_rate_sat_vb` of /v1/chain/recent-blocks is the mean;
-- `fee_percentiles` of /v1/blocks/{height_or_hash} weigh transactions by their size, so its median differs from this one.
WITH paid AS (
    SELECT
        day,
        count(*) AS payments,
        CAST(SUM(fee_sats) AS BIGINT) AS fees_sats,
        CAST(ceil(CAST(SUM(weight) AS DOUBLE) / 4) AS BIGINT) AS vbytes,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST(fee_sats AS DOUBLE) / CAST(vsize AS DOUBLE)) AS median_sat_vb
    FROM transactions
    WHERE position > 0
    GROUP BY day
)
SELECT day, payments, fees_sats, vbytes, CAST(fees_sats AS DOUBLE) / CAST(vbytes AS DOUBLE) AS mean_sat_vb, median_sat_vb
FROM paid
ORDER BY day
