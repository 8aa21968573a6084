-- Sales call by call: challenges of L402, payments of x402, and invoices of the simulated Lightning node.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE l402_challenges (
  -- Random and public.
  id                 TEXT   NOT NULL PRIMARY KEY,
  -- Stands in the macaroon.
  token_id           BYTEA  NOT NULL CHECK (length(token_id) = 32),
  payment_hash       BYTEA  NOT NULL CHECK (length(payment_hash) = 32),
  -- Secret: signs the macaroon, and verifies it.
  root_key           BYTEA  NOT NULL CHECK (length(root_key) = 32),
  macaroon           TEXT   NOT NULL,
  invoice            TEXT   NOT NULL,
  capability         TEXT   NOT NULL,
  method             TEXT   NOT NULL,
  path_template      TEXT   NOT NULL,
  resource_path      TEXT   NOT NULL,
  -- SHA-256 of the request.
  fingerprint        BYTEA  NOT NULL CHECK (length(fingerprint) = 32),
  -- A keyed hash of the client's address; null as soon as the challenge is redeemed.
  client             TEXT,
  price_sats         BIGINT NOT NULL CHECK (price_sats > 0),
  provider           TEXT   NOT NULL,
  created_at         BIGINT NOT NULL,
  invoice_expires_at BIGINT NOT NULL,
  expires_at         BIGINT NOT NULL,
  -- The end of redemption: some minutes after expires_at, later if an operator has opened it again.
  redeemable_until   BIGINT NOT NULL,
  -- The request that has it in use. Each lease has a larger fencing number than the one before.
  holder             TEXT,
  fence              BIGINT NOT NULL DEFAULT 0 CHECK (fence >= 0),
  leased_until       BIGINT,
  -- Leases that ended with an answer such as 404.
  not_found          BIGINT NOT NULL DEFAULT 0 CHECK (not_found >= 0),
  redeemed_at        BIGINT,
  -- The first redemption. It stays if an operator opens the challenge again, so that sums of past days never change.
  sold_at            BIGINT,
  CHECK (redeemed_at IS NULL OR sold_at IS NOT NULL)
);
CREATE UNIQUE INDEX l402_tokens ON l402_challenges (token_id);
CREATE UNIQUE INDEX l402_payments ON l402_challenges (payment_hash);
CREATE INDEX l402_open ON l402_challenges (expires_at) WHERE redeemed_at IS NULL;
CREATE INDEX l402_open_by_client ON l402_challenges (client, expires_at) WHERE redeemed_at IS NULL;
CREATE INDEX l402_unsold ON l402_challenges (redeemable_until) WHERE sold_at IS NULL;
CREATE INDEX l402_sold ON l402_challenges (sold_at) WHERE sold_at IS NOT NULL;
-- Challenges that operators opened again, once each. Nothing is ever removed.
CREATE TABLE l402_reopenings (
  challenge_id TEXT   NOT NULL PRIMARY KEY,
  reason       TEXT   NOT NULL,
  -- The redemption that was taken back.
  redeemed_at  BIGINT NOT NULL,
  reopened_at  BIGINT NOT NULL
);
-- One row for each authorization of a payment (EIP-3009), over all operations.
CREATE TABLE x402_payments (
  chain_id       BIGINT NOT NULL CHECK (chain_id > 0),
  -- Addresses of the token and of the payer, in small letters.
  asset          TEXT   NOT NULL CHECK (length(asset) = 42),
  payer          TEXT   NOT NULL CHECK (length(payer) = 42),
  nonce          BYTEA  NOT NULL CHECK (length(nonce) = 32),
  -- SHA-256 of the request that it pays.
  fingerprint    BYTEA  NOT NULL CHECK (length(fingerprint) = 32),
  capability     TEXT   NOT NULL,
  -- In the smallest unit of the token.
  amount         BIGINT NOT NULL CHECK (amount > 0),
  -- The signed payload, with which the outcome of a settlement is found out.
  payload        TEXT   NOT NULL,
  -- When the authorization ends.
  valid_before   BIGINT NOT NULL,
  state          TEXT   NOT NULL CHECK (state IN ('taken', 'settling', 'settled', 'refused', 'unknown')),
  -- The request that has it in use.
  holder         TEXT   NOT NULL,
  fence          BIGINT NOT NULL CHECK (fence > 0),
  leased_until   BIGINT NOT NULL,
  taken_at       BIGINT NOT NULL,
  changed_at     BIGINT NOT NULL,
  settled_at     BIGINT,
  transaction_id TEXT,
  -- Why it was refused, or why its outcome is not known.
  reason         TEXT,
  -- When the answer to its request was given out; null also if a settled payment was not answered yet.
  delivered_at   BIGINT,
  PRIMARY KEY (chain_id, asset, payer, nonce),
  CHECK ((state = 'settled') = (settled_at IS NOT NULL)),
  CHECK ((state = 'settled') = (transaction_id IS NOT NULL)),
  CHECK (delivered_at IS NULL OR settled_at IS NOT NULL)
);
CREATE INDEX x402_open ON x402_payments (changed_at) WHERE state IN ('settling', 'unknown');
CREATE INDEX x402_settled ON x402_payments (settled_at) WHERE state = 'settled';
CREATE INDEX x402_owed ON x402_payments (settled_at) WHERE state = 'settled' AND delivered_at IS NULL;
CREATE INDEX x402_unsettled ON x402_payments (valid_before) WHERE state IN ('taken', 'refused');
-- Invoices of the simulated Lightning node, which is for regtest only: an operator's command pays them.
CREATE TABLE simulated_invoices (
  payment_hash BYTEA  NOT NULL PRIMARY KEY CHECK (length(payment_hash) = 32),
  -- Secret until the invoice is paid.
  preimage     BYTEA  NOT NULL CHECK (length(preimage) = 32),
  -- Name of the request for the invoice.
  label        TEXT   NOT NULL,
  bolt11       TEXT   NOT NULL,
  amount_sats  BIGINT NOT NULL CHECK (amount_sats > 0),
  expires_at   BIGINT NOT NULL,
  paid_at      BIGINT
);
CREATE UNIQUE INDEX simulated_labels ON simulated_invoices (label);
CREATE INDEX simulated_ends ON simulated_invoices (expires_at);
