-- How concentrated is the supply, if scripts that are spent together are one holder? Holders by balance, with their sizes.
--
-- A cluster is a set of scripts that transactions spend from together, CoinJoins left out. A script in no cluster is a
-- holder of its own. The bands go by powers of ten in satoshis, lower bound included. Empty holders are left out.
--
-- The API: `by_cluster.bands` of /v1/chain/supply-distribution (holders, sats). It does not tell the scripts of holders.
-- Definitions: clusters, supply-distribution. By day: the dataset balance_bands.
WITH holders AS (
    SELECT scripts, balance_sats FROM clusters WHERE balance_sats > 0
    UNION ALL
    SELECT CAST(1 AS BIGINT), s.balance_sats
    FROM scripts s
    LEFT JOIN cluster_scripts c ON c.script_id = s.script_id
    WHERE c.script_id IS NULL AND s.balance_sats > 0
), banded AS (
    SELECT
        -- The number of digits less one: exact, where a logarithm would round.
        CASE WHEN balance_sats >= 10000000000000 THEN 13 ELSE length(CAST(balance_sats AS VARCHAR(20))) - 1 END AS band,
        scripts, balance_sats
    FROM holders
)
SELECT
    CAST(band AS INT) AS band,
    count(*) AS holders,
    CAST(SUM(balance_sats) AS BIGINT) AS sats,
    CAST(SUM(scripts) AS BIGINT) AS scripts,
    max(scripts) AS most_scripts
FROM banded
GROUP BY band
ORDER BY band
