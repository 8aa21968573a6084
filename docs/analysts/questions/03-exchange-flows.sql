-- What came to exchanges and what left them, by day?
--
-- Only scripts that labels know count. `internal` came back to the exchange that sent it, change included; it is in neither
-- flow. `entity` is null for all exchanges together: there, what exchanges sent each other is left out. `latest` takes
-- the labels of today for the whole history; for a backtest take `pit`, the labels as they were asserted at the time.
-- Over any days: change of the balance = inflow - outflow - fee + reclassified.
--
-- The API: `days` of /v1/exchange/flows (mode=latest), and /v1/exchange/flows/summary. Definition: exchange-flows.
SELECT
    entity, day,
    inflow_sats, outflow_sats, inflow_sats - outflow_sats AS net_sats, internal_sats, fee_sats,
    from_exchanges_sats, to_exchanges_sats, CAST(transactions AS BIGINT) AS transactions
FROM entity_flows
WHERE mode = 'latest'
ORDER BY entity NULLS FIRST, day
