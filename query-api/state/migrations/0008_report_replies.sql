-- The answers of owners of reported addresses, and the removal of texts. One text for SQLite and PostgreSQL.
-- The answer of whoever holds the key of the address: untrusted text. A later one replaces it.
ALTER TABLE reports ADD COLUMN reply TEXT;
ALTER TABLE reports ADD COLUMN replied_at BIGINT;
-- Until when the message could be signed: an older message replaces nothing.
ALTER TABLE reports ADD COLUMN reply_until BIGINT;
-- When an operator removed the texts.
ALTER TABLE reports ADD COLUMN erased_at BIGINT;
CREATE INDEX reports_by_expiry ON reports (expires_at, id);
-- One more act than before. SQLite cannot change a check, so the table is written again.
CREATE TABLE report_acts_with_erase (
  id        TEXT   NOT NULL PRIMARY KEY,
  report_id TEXT   NOT NULL,
  act       TEXT   NOT NULL CHECK (act IN ('hide', 'restore', 'erase')),
  reason    TEXT   NOT NULL,
  acted_at  BIGINT NOT NULL
);
INSERT INTO report_acts_with_erase (id, report_id, act, reason, acted_at)
  SELECT id, report_id, act, reason, acted_at FROM report_acts;
DROP TABLE report_acts;
ALTER TABLE report_acts_with_erase RENAME TO report_acts;
CREATE INDEX report_acts_by_report ON report_acts (report_id, acted_at, id);
