//! The service state: the same tests on SQLite and, where CAIRN_TEST_POSTGRES_URL names a server, on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod both;
mod database;
mod processes;
mod sqlite;
mod unreachable;
