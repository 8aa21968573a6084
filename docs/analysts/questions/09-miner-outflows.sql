-- What do miners spend of what they mined? Coins of coinbases when they are first spent, by day, beside what was mined.
--
-- Every output of a coinbase counts as a miner's until it is spent; that spend is its first move. What comes back as change
-- is not followed. It needs no label, so it covers the whole chain, and it cannot tell pools apart.
--
-- The API differs: `outflow_sats` of /v1/miner/flows is, for each pool that it can name, what leaves all scripts of the pool.
-- Comparable are `mined_sats`: over pools, `other` and `unidentified` they add up to this column. Of a single coinbase,
-- /v1/tx/{txid} tells what spent its outputs. Definition: miner-flows.
WITH mined AS (
    SELECT day, count(*) AS blocks, CAST(SUM(coinbase_sats) AS BIGINT) AS mined_sats
    FROM blocks
    GROUP BY day
), spent AS (
    SELECT
        day,
        count(*) AS coins,
        CAST(SUM(value_sats) AS BIGINT) AS first_spent_sats,
        CAST(SUM(CAST(value_sats AS DECIMAL(19, 0)) * CAST(age_seconds AS DECIMAL(18, 0))) AS DOUBLE) / 8.64E12 AS coin_days
    FROM inputs
    WHERE is_coinbase
    GROUP BY day
)
SELECT
    mined.day, mined.blocks, mined.mined_sats,
    COALESCE(spent.coins, 0) AS coins_first_spent,
    COALESCE(spent.first_spent_sats, 0) AS first_spent_sats,
    COALESCE(spent.coin_days, 0E0) AS coin_days_destroyed
FROM mined
LEFT JOIN spent ON spent.day = mined.day
ORDER BY mined.day
