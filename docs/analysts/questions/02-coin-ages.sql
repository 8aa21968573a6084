-- How old are the coins? The supply by age class, as of the newest block.
--
-- The age of a coin is the number of days from the day of the block that made it to the day of the newest block; days go
-- by monotone block time. A coin that was made on the same day has age 0. A month has 30 days, a year 365.
-- The supply is what is unspent: outputs that nobody can spend are not in it.
--
-- The API: `by_age` of /v1/chain/supply-distribution, and `hodl_waves` of /v1/onchain. Definition: supply-distribution.
-- The same from the coins themselves: FROM coins, count(*), sum(value_sats). For an earlier day, leave out later changes.
WITH tip AS (
    SELECT max(day) AS day FROM blocks
), by_birth AS (
    SELECT birth_day, SUM(coins) AS coins, SUM(change_sats) AS sats
    FROM supply_changes
    GROUP BY birth_day
), aged AS (
    SELECT CAST(tip.day - birth_day AS INT) AS age, coins, sats
    FROM by_birth CROSS JOIN tip
), classed AS (
    SELECT
        CASE
            WHEN age >= 3650 THEN 3650
            WHEN age >= 2555 THEN 2555
            WHEN age >= 1825 THEN 1825
            WHEN age >= 1095 THEN 1095
            WHEN age >= 730 THEN 730
            WHEN age >= 365 THEN 365
            WHEN age >= 180 THEN 180
            WHEN age >= 90 THEN 90
            WHEN age >= 30 THEN 30
            WHEN age >= 7 THEN 7
            WHEN age >= 1 THEN 1
            ELSE 0
        END AS from_days,
        coins, sats
    FROM aged
)
SELECT from_days, CAST(SUM(coins) AS BIGINT) AS coins, CAST(SUM(sats) AS BIGINT) AS sats
FROM classed
GROUP BY from_days
HAVING SUM(coins) <> 0
ORDER BY from_days
