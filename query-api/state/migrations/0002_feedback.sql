-- What clients have to say about data and labels. It is a ticket for the operator, and no claim about an address.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE feedback (
  id                 TEXT   NOT NULL PRIMARY KEY,
  kind               TEXT   NOT NULL CHECK (kind IN ('label_correction', 'missing_label', 'data_quality', 'general')),
  address            TEXT,
  message            TEXT   NOT NULL,
  suggested_label    TEXT,
  suggested_category TEXT,
  source_url         TEXT,
  -- Of all the above but the id: the same words are one ticket while it is open.
  content_sha256     TEXT   NOT NULL CHECK (length(content_sha256) = 64),
  -- A pseudonym that only the server process that wrote it can compute again; no address.
  client             TEXT,
  state              TEXT   NOT NULL CHECK (state IN ('open', 'resolved', 'rejected')),
  created_at         BIGINT NOT NULL,
  closed_at          BIGINT,
  note               TEXT
);
CREATE UNIQUE INDEX feedback_open ON feedback (content_sha256) WHERE state = 'open';
CREATE INDEX feedback_by_state ON feedback (state, created_at, id);
CREATE INDEX feedback_by_client ON feedback (client, created_at);
