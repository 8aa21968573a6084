-- How much do exchanges, pools and services hold, and on what does that rest?
--
-- Members are scripts that labels name as the entity's own. Inherited scripts count because their cluster has a member;
-- that is an inference. `left_out` is in clusters that may have been merged by mistake. The category is the one that most
-- of the scripts have which labels name the entity for, members or not. Only known scripts count: no entity's whole balance.
--
-- The API: `balance_sats`, `direct_balance_sats`, `inherited_balance_sats` of /v1/entities/{entity_name}.
-- Definition: entities. Natural persons are left out, as in the lists of the API.
SELECT
    entity, category, members, inherited_scripts,
    balance_sats, received_sats - sent_sats AS direct_balance_sats, inherited_balance_sats, left_out_balance_sats
FROM entities
WHERE NOT is_person
ORDER BY balance_sats DESC, entity
