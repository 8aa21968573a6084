-- Addresses that clients pay to, and what clients report about addresses.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
-- The next index of each descriptor that addresses are derived from. A descriptor stands here by its SHA-256, in hex.
CREATE TABLE payment_counters (
  descriptor TEXT   NOT NULL PRIMARY KEY CHECK (length(descriptor) = 64),
  -- A random id. A data folder remembers it, with the next index.
  run        TEXT   NOT NULL CHECK (length(run) = 32),
  next_index BIGINT NOT NULL CHECK (next_index >= 0)
);
-- One row for each address that was given out.
CREATE TABLE payment_addresses (
  descriptor    TEXT   NOT NULL,
  address_index BIGINT NOT NULL,
  -- What is paid, for example "report:" and its id.
  purpose       TEXT   NOT NULL,
  -- In hex.
  script        TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (descriptor, address_index)
);
CREATE UNIQUE INDEX payment_scripts ON payment_addresses (script);
-- Indices that are never given out, because a database that was lost may have given them out.
CREATE TABLE payment_skips (
  descriptor  TEXT   NOT NULL,
  first_index BIGINT NOT NULL,
  -- The index after the last one.
  end_index   BIGINT NOT NULL,
  skipped_at  BIGINT NOT NULL,
  PRIMARY KEY (descriptor, first_index)
);
CREATE TABLE reports (
  id               TEXT   NOT NULL PRIMARY KEY,
  -- The address that it is about, and SHA-256 of its script, in hex.
  address          TEXT   NOT NULL,
  script_hash      TEXT   NOT NULL CHECK (length(script_hash) = 64),
  category         TEXT   NOT NULL,
  -- Untrusted text.
  description      TEXT   NOT NULL,
  -- Txids with spaces between them.
  evidence_txids   TEXT   NOT NULL,
  evidence_url     TEXT,
  -- A keyed hash of the client's address.
  client           TEXT,
  created_at       BIGINT NOT NULL,
  expires_at       BIGINT NOT NULL,
  -- What must be paid, and the script that it is paid to, in hex.
  amount_sats      BIGINT NOT NULL,
  payment_script   TEXT   NOT NULL,
  payment_address  TEXT   NOT NULL,
  -- The operator's decision; a report that is held waits for the first one.
  visibility       TEXT   NOT NULL CHECK (visibility IN ('shown', 'held', 'hidden')),
  -- Votes.
  up               BIGINT NOT NULL DEFAULT 0,
  down             BIGINT NOT NULL DEFAULT 0,
  -- The block that was last seen to publish it.
  published_height BIGINT,
  published_hash   TEXT
);
CREATE UNIQUE INDEX report_payments ON reports (payment_script);
CREATE INDEX reports_by_script ON reports (script_hash, (up - down), created_at, id);
CREATE INDEX reports_by_time ON reports (created_at, id);
CREATE INDEX reports_by_client ON reports (client, expires_at);
-- What operators did with reports. Nothing is ever removed.
CREATE TABLE report_acts (
  id        TEXT   NOT NULL PRIMARY KEY,
  report_id TEXT   NOT NULL,
  act       TEXT   NOT NULL CHECK (act IN ('hide', 'restore')),
  reason    TEXT   NOT NULL,
  acted_at  BIGINT NOT NULL
);
CREATE INDEX report_acts_by_report ON report_acts (report_id, acted_at, id);
-- The keys of the hashes of clients: the newest, and the one before.
CREATE TABLE client_keys (
  number BIGINT NOT NULL PRIMARY KEY,
  secret TEXT   NOT NULL CHECK (length(secret) = 64),
  since  BIGINT NOT NULL
);
-- When clients voted last, by keyed hashes of their addresses.
CREATE TABLE report_voters (
  client   TEXT   NOT NULL PRIMARY KEY,
  voted_at BIGINT NOT NULL
);
