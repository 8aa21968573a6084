-- Hashes that clients handed in to be anchored in the chain, the batches that they are anchored in, and the process that
-- anchors. Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE timestamp_hashes (
  network      TEXT   NOT NULL,
  -- As it was handed in. Calendars accept up to 64 bytes.
  hash         BYTEA  NOT NULL CHECK (length(hash) BETWEEN 1 AND 64),
  -- Random bytes, so that nobody learns the hash from the proofs of others.
  nonce        BYTEA  NOT NULL CHECK (length(nonce) = 16),
  -- SHA-256 of hash and nonce: a leaf of the tree.
  commitment   BYTEA  NOT NULL CHECK (length(commitment) = 32),
  source       TEXT   NOT NULL CHECK (source IN ('api', 'calendar')),
  submitted_at BIGINT NOT NULL,
  -- Both are null while the hash waits for a batch.
  batch        BIGINT,
  position     BIGINT,
  PRIMARY KEY (network, hash)
);
CREATE UNIQUE INDEX timestamp_commitments ON timestamp_hashes (commitment);
CREATE INDEX timestamp_waiting ON timestamp_hashes (network, submitted_at, commitment) WHERE batch IS NULL;
CREATE TABLE timestamp_batches (
  id         BIGINT NOT NULL PRIMARY KEY,
  network    TEXT   NOT NULL,
  root       BYTEA  NOT NULL CHECK (length(root) = 32),
  leaves     BIGINT NOT NULL CHECK (leaves > 0),
  state      TEXT   NOT NULL CHECK (state IN ('aggregated', 'broadcast', 'confirmed', 'final', 'failed')),
  -- The fencing number of the process that changed it last.
  fence      BIGINT NOT NULL,
  made_at    BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  -- The reason, if the state is 'failed'.
  failure    TEXT,
  -- The transaction that was sent last or, from 'confirmed' on, the one in the block; in the order of its bytes.
  txid       BYTEA  CHECK (length(txid) = 32),
  -- The block as the process that anchors saw it.
  height     BIGINT,
  block_hash BYTEA  CHECK (length(block_hash) = 32),
  -- The steps of a proof from the root of the tree to the attestation of the block.
  proof      BYTEA
);
CREATE INDEX timestamp_open_batches ON timestamp_batches (network, id) WHERE state NOT IN ('final', 'failed');
-- Parts of the trees: up to 256 neighbouring nodes of each eighth level, the leaves first.
CREATE TABLE timestamp_nodes (
  batch  BIGINT NOT NULL,
  level  BIGINT NOT NULL,
  part   BIGINT NOT NULL,
  hashes BYTEA  NOT NULL CHECK (length(hashes) BETWEEN 32 AND 8192),
  PRIMARY KEY (batch, level, part)
);
-- Signed transactions of a batch. All replacements stay until one of them is final.
CREATE TABLE timestamp_candidates (
  batch    BIGINT NOT NULL,
  txid     BYTEA  NOT NULL CHECK (length(txid) = 32),
  raw      BYTEA  NOT NULL,
  fee_sats BIGINT NOT NULL,
  vsize    BIGINT NOT NULL,
  made_at  BIGINT NOT NULL,
  -- Null until a node has accepted it.
  sent_at  BIGINT,
  PRIMARY KEY (batch, txid)
);
-- The one process that anchors. Each holder has a larger fencing number than the one before.
CREATE TABLE timestamp_leases (
  network    TEXT   NOT NULL PRIMARY KEY,
  holder     TEXT   NOT NULL,
  fence      BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
-- What that process has last said about its wallet and its next anchor.
CREATE TABLE timestamp_reports (
  network        TEXT   NOT NULL PRIMARY KEY,
  fence          BIGINT NOT NULL,
  wallet         TEXT   NOT NULL CHECK (wallet IN ('ready', 'wallet_missing', 'locked', 'empty', 'limit')),
  anchors_left   BIGINT,
  anchor_vsize   BIGINT NOT NULL,
  interval_secs  BIGINT NOT NULL,
  next_anchor_at BIGINT,
  reported_at    BIGINT NOT NULL
);
