-- Who holds most? The 20 largest balances by script, by cluster and by entity.
--
-- A script is one scriptPubKey: one address, or a script without an address (its SHA-256 is not its name here: see
-- `scripts.script`). A cluster is a set of scripts that transactions spend from together; a script in no cluster is a
-- holder of its own and is not repeated under `cluster`. An entity has the scripts that labels name, and those of their
-- clusters. A holder is not a person.
--
-- The API: a script's balance is `balance.confirmed_sats` of /v1/wallets/{address}/overview, an entity's is `balance_sats`
-- of /v1/entities/{entity_name}. Clusters: `cairn cluster ADDRESS`.
WITH holders AS (
    SELECT 'script' AS kind, COALESCE(address, lower(hex(script))) AS holder, CAST(1 AS BIGINT) AS scripts, balance_sats
    FROM scripts
    UNION ALL
    SELECT 'cluster', CAST(cluster AS VARCHAR(20)), scripts, balance_sats FROM clusters
    UNION ALL
    SELECT 'entity', entity, members + inherited_scripts, balance_sats FROM entities
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY balance_sats DESC, holder) AS place
    FROM holders
    WHERE balance_sats > 0
)
SELECT kind, place, holder, scripts, balance_sats
FROM ranked
WHERE place <= 20
ORDER BY kind, place
