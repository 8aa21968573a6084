-- What operators decide about rows of lists of sanctions, and when such a list was last compared with its publisher's.
-- Nothing is ever removed: a withdrawn approval keeps who gave it and who withdrew it.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE sanction_approvals (
  -- Source and name of the list, as "source/name".
  list          TEXT   NOT NULL,
  -- SHA-256 of the script, in hex.
  script_sha256 TEXT   NOT NULL CHECK (length(script_sha256) = 64),
  -- As the approver has seen them. Where the list does not tell them, they are empty.
  party_uid     TEXT   NOT NULL,
  party_name    TEXT   NOT NULL,
  address       TEXT   NOT NULL,
  -- SHA-256 of the document that the approver has seen, in hex.
  feed_sha256   TEXT   NOT NULL CHECK (length(feed_sha256) = 64),
  -- In small letters.
  approver      TEXT   NOT NULL,
  approved_at   BIGINT NOT NULL,
  withdrawn_at  BIGINT,
  withdrawn_by  TEXT
);
CREATE UNIQUE INDEX sanction_approved ON sanction_approvals (list, script_sha256, party_uid, party_name, approver)
  WHERE withdrawn_at IS NULL;
CREATE TABLE sanction_feeds (
  list                     TEXT   NOT NULL,
  sha256                   TEXT   NOT NULL CHECK (length(sha256) = 64),
  checked_at               BIGINT NOT NULL,
  -- The date that the document bears.
  issued_at                BIGINT,
  -- Of the rows that the import left out.
  invalid                  BIGINT,
  listed_under_other_asset BIGINT,
  PRIMARY KEY (list, sha256)
);
