-- Bridge keys and wallet sessions. The secret is not here: only its SHA-256, in hex.
-- Times are seconds since 1970. One text for SQLite and PostgreSQL.
CREATE TABLE access_keys (
  id            TEXT   NOT NULL PRIMARY KEY,
  kind          TEXT   NOT NULL CHECK (kind IN ('key', 'session')),
  secret_sha256 TEXT   NOT NULL CHECK (length(secret_sha256) = 64),
  label         TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT,
  revoked_at    BIGINT,
  last_used_at  BIGINT
);
