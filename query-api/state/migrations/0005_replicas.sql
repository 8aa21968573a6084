-- What machines that serve copies of an index share with the one that writes it.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
-- Documents that were handed in beside a copy and wait for the writer.
CREATE TABLE waiting_documents (
  -- A UUID of version 7: they sort by the time of their making.
  id        TEXT   NOT NULL PRIMARY KEY,
  network   TEXT   NOT NULL,
  queued_at BIGINT NOT NULL,
  -- Who handed them in.
  origin    TEXT   NOT NULL,
  documents BIGINT NOT NULL,
  bytes     BIGINT NOT NULL,
  -- A file of events, which ends with its SHA-256.
  payload   BYTEA  NOT NULL CHECK (length(payload) = bytes)
);
CREATE INDEX waiting_documents_by_network ON waiting_documents (network, id);
-- The newest tip of the index that is written, one row for each network.
CREATE TABLE writers (
  network      TEXT   NOT NULL PRIMARY KEY,
  height       BIGINT NOT NULL,
  -- In hex, as shown to people.
  hash         TEXT   NOT NULL CHECK (length(hash) = 64),
  -- The newest input event.
  event_seq    BIGINT NOT NULL,
  -- Of the best chain that its source knows, indexed or not.
  best_height  BIGINT,
  published_at BIGINT NOT NULL
);
