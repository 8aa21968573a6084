-- When do old coins move? What was spent in each ISO week, by the year in which it was made and by its age.
--
-- The age of a coin is the time from the block that made it to the block that spends it, by monotone block time; a year has
-- 365 days. Coin-days destroyed are value times age, in bitcoin times days, here with all decimals of a DOUBLE.
-- A movement is no sale.
--
-- The API: /v1/dormancy/weekly.json has the classes from one year on (all birth years together); over all classes,
-- `spent_sats` and `coin_days_destroyed` of /v1/onchain. Definitions: old-coins, coin-days-destroyed.
WITH spent AS (
    SELECT
        CAST(date_trunc('week', inputs.day) AS DATE) AS week,
        CAST(extract(YEAR FROM blocks.day) AS INT) AS birth_year,
        CASE
            WHEN age_seconds >= 315360000 THEN 10
            WHEN age_seconds >= 220752000 THEN 7
            WHEN age_seconds >= 157680000 THEN 5
            WHEN age_seconds >= 94608000 THEN 3
            WHEN age_seconds >= 63072000 THEN 2
            WHEN age_seconds >= 31536000 THEN 1
            ELSE 0
        END AS from_years,
        value_sats,
        CAST(value_sats AS DECIMAL(19, 0)) * CAST(age_seconds AS DECIMAL(18, 0)) AS coin_seconds
    FROM inputs
    JOIN blocks ON blocks.height = inputs.birth_height
)
SELECT
    week, birth_year, from_years,
    count(*) AS coins,
    CAST(SUM(value_sats) AS BIGINT) AS sats,
    CAST(SUM(coin_seconds) AS DOUBLE) / 8.64E12 AS coin_days_destroyed
FROM spent
GROUP BY week, birth_year, from_years
ORDER BY week, birth_year, from_years
