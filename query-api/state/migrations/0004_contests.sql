-- Feedback about one claim, and whether the holder of the address's key has signed it.
-- One text for SQLite and PostgreSQL.
ALTER TABLE feedback ADD COLUMN claim_id TEXT;
ALTER TABLE feedback ADD COLUMN is_signed BIGINT NOT NULL DEFAULT 0 CHECK (is_signed IN (0, 1));
-- Random keys of this service, in hex: by them it knows again what it has given out. All servers of one database share them.
CREATE TABLE service_secrets (
  name   TEXT NOT NULL PRIMARY KEY,
  secret TEXT NOT NULL CHECK (length(secret) = 64)
);
