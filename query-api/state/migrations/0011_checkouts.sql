-- Checkouts of passes. Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE checkouts (
  -- Random and public.
  id              TEXT   NOT NULL PRIMARY KEY,
  -- SHA-256 of the secret that its buyer shows, in hex.
  claim_sha256    TEXT   NOT NULL CHECK (length(claim_sha256) = 64),
  plan            TEXT   NOT NULL,
  price_sats      BIGINT NOT NULL CHECK (price_sats > 0),
  -- How long the pass lasts from the first payment on.
  valid_secs      BIGINT NOT NULL CHECK (valid_secs > 0),
  -- A keyed hash of the client's address; null as soon as the checkout is paid.
  client          TEXT,
  created_at      BIGINT NOT NULL,
  -- Until when it should be paid.
  expires_at      BIGINT NOT NULL,
  method          TEXT   NOT NULL CHECK (method IN ('lightning', 'onchain')),
  -- On chain: what is paid to, the script in hex.
  payment_script  TEXT,
  payment_address TEXT,
  -- Over Lightning: the invoice, and the kind of the node that made it.
  payment_hash    BYTEA  CHECK (payment_hash IS NULL OR length(payment_hash) = 32),
  invoice         TEXT,
  provider        TEXT,
  -- What had arrived when the payment was last seen: confirmed outputs, or a paid invoice.
  received_sats   BIGINT NOT NULL DEFAULT 0 CHECK (received_sats >= 0),
  -- When the accepted payment became complete, and the block that completed it. They stay if it is reverted.
  paid_at         BIGINT,
  paid_height     BIGINT,
  paid_hash       TEXT,
  -- When it was accepted for the first time: the pass begins.
  first_paid_at   BIGINT,
  -- Since when the chain lacks an accepted payment.
  reverted_at     BIGINT,
  -- Height of the highest tip at which an accepted payment on chain was looked at; only higher ones change the row.
  judged_height   BIGINT,
  -- 1 once nothing can change any more: the block is buried deep, or the invoice is paid.
  settled         BIGINT NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
  -- When the Lightning node was last asked for the invoice by itself.
  asked_at        BIGINT NOT NULL DEFAULT 0,
  -- The key that it gave, once.
  key_id          TEXT,
  claimed_at      BIGINT,
  CHECK ((method = 'onchain') = (payment_script IS NOT NULL)),
  CHECK ((method = 'onchain') = (payment_address IS NOT NULL)),
  CHECK ((method = 'lightning') = (payment_hash IS NOT NULL)),
  CHECK ((method = 'lightning') = (invoice IS NOT NULL)),
  CHECK ((method = 'lightning') = (provider IS NOT NULL)),
  CHECK ((paid_height IS NULL) = (paid_hash IS NULL)),
  CHECK ((paid_at IS NULL) = (first_paid_at IS NULL)),
  CHECK (reverted_at IS NULL OR first_paid_at IS NOT NULL),
  CHECK (judged_height IS NULL OR first_paid_at IS NOT NULL),
  CHECK (key_id IS NULL OR first_paid_at IS NOT NULL),
  CHECK ((key_id IS NULL) = (claimed_at IS NULL))
);
CREATE UNIQUE INDEX checkout_scripts ON checkouts (payment_script);
CREATE UNIQUE INDEX checkout_invoices ON checkouts (payment_hash);
CREATE INDEX checkouts_unpaid ON checkouts (expires_at) WHERE first_paid_at IS NULL;
CREATE INDEX checkouts_unpaid_by_client ON checkouts (client, expires_at) WHERE first_paid_at IS NULL;
CREATE INDEX checkouts_unsettled ON checkouts (id) WHERE settled = 0;
CREATE INDEX checkouts_paid ON checkouts (first_paid_at) WHERE first_paid_at IS NOT NULL;
-- Since when a key does not work because the chain lacks the payment for it.
ALTER TABLE access_keys ADD COLUMN suspended_at BIGINT;
