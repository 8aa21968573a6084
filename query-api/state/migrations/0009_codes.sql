-- Codes that clients redeem for a key or a wallet session. The secret is not here: only its SHA-256, in hex.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE codes (
  id            TEXT   NOT NULL PRIMARY KEY,
  secret_sha256 TEXT   NOT NULL CHECK (length(secret_sha256) = 64),
  kind          TEXT   NOT NULL CHECK (kind IN ('key', 'session')),
  -- Label of the key.
  label         TEXT   NOT NULL,
  -- How long the key is valid from its redemption on.
  valid_secs    BIGINT NOT NULL CHECK (valid_secs > 0),
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  revoked_at    BIGINT,
  -- When it was redeemed, and the key that it gave.
  redeemed_at   BIGINT,
  key_id        TEXT,
  CHECK ((redeemed_at IS NULL) = (key_id IS NULL))
);
