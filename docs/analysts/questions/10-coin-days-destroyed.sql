-- Which transactions moved most coin-days? The 20 that destroyed most, and how much of that was of coins of five years and more.
--
-- Coin-days destroyed are the sum, over the coins that a transaction spends, of value times age: bitcoin times days.
-- Ages are by monotone block time; a year has 365 days. `average_age_days` is weighted by value.
--
-- The API: /v1/chain/dormant-movements lists transactions with 10 BTC and more of old coins; its `old_sats` and
-- `coin_days_destroyed` are `old_sats` and `old_coin_days` here. By day, /v1/onchain has the sum over all transactions.
-- Definitions: coin-days-destroyed, old-coins. For an export with --hashes hex, write t.txid for lower(hex(t.txid)).
WITH destroyed AS (
    SELECT
        tx_num,
        SUM(CAST(value_sats AS DECIMAL(19, 0)) * CAST(age_seconds AS DECIMAL(18, 0))) AS coin_seconds,
        SUM(
            CASE WHEN age_seconds >= 157680000 THEN CAST(value_sats AS DECIMAL(19, 0)) * CAST(age_seconds AS DECIMAL(18, 0)) ELSE 0 END
        ) AS old_coin_seconds,
        CAST(SUM(CASE WHEN age_seconds >= 157680000 THEN value_sats ELSE 0 END) AS BIGINT) AS old_sats
    FROM inputs
    GROUP BY tx_num
), ranked AS (
    SELECT *, row_number() OVER (ORDER BY coin_seconds DESC, tx_num) AS place
    FROM destroyed
)
SELECT
    r.place, lower(hex(t.txid)) AS txid, t.height, t.day, t.inputs, t.input_sats,
    CAST(r.coin_seconds AS DOUBLE) / 8.64E12 AS coin_days_destroyed,
    CAST(r.coin_seconds AS DOUBLE) / CAST(t.input_sats AS DOUBLE) / 86400E0 AS average_age_days,
    r.old_sats,
    CAST(r.old_coin_seconds AS DOUBLE) / 8.64E12 AS old_coin_days
FROM ranked r
JOIN transactions t ON t.tx_num = r.tx_num
WHERE r.place <= 20
ORDER BY r.place
