-- How much do exchanges, pools and services hold, and on what does that rest?
--
-- Members are scripts that labels name as the entity's own. Inherited scripts count because their cluster has a member;
-- that is an inference. `left_out` is in clusters that may have been merged by mistake. The category is the one that most
-- of the scripts have which labels name the entity for, members or not. Only known scripts count: no entity's whole balance.
--
-- The API: `balance_sats`, `direct_balance_sats`, `inherited_balance_sats` of /v1/entities/{entity_name}.
-- Definition: entities. The API leaves natural persons out of its lists; this table has all names.
WITH counted AS (
    SELECT COALESCE(member_of, entity) AS entity, category, count(*) AS scripts
    FROM labels
    WHERE category IS NOT NULL
    GROUP BY COALESCE(member_of, entity), category
), categories AS (
    SELECT entity, category, row_number() OVER (PARTITION BY entity ORDER BY scripts DESC, category) AS place
    FROM counted
)
SELECT
    e.entity, c.category, e.members, e.inherited_scripts,
    e.balance_sats, e.received_sats - e.sent_sats AS direct_balance_sats, e.inherited_balance_sats, e.left_out_balance_sats
FROM entities e
LEFT JOIN categories c ON c.entity = e.entity AND c.place = 1
ORDER BY e.balance_sats DESC, e.entity
