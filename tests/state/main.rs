//! The service state: the same tests on SQLite and, where CAIRN_TEST_POSTGRES_URL names a server, on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used)]

/// Makes of every function named a test on either database.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test] async fn $name() { super::$name(&crate::database::TestDatabase::sqlite()).await; })+
        }
        mod on_postgres {
            $(#[tokio::test] async fn $name() {
                let Some(database) = crate::database::TestDatabase::postgres().await else {
                    cairn_testkit::note_skipped(
                        concat!(module_path!(), "::", stringify!($name)),
                        concat!("no PostgreSQL server (", "CAIRN_TEST_POSTGRES_URL", ")"),
                    );
                    return;
                };
                super::$name(&database).await;
                database.remove().await;
            })+
        }
    };
}

mod approvals;
mod both;
mod checkouts;
mod codes;
mod damages;
mod database;
mod lost;
mod processes;
mod replicas;
mod report_texts;
mod reports;
mod sales;
mod sales_leases;
mod sales_model;
mod simulated_invoices;
mod sqlite;
mod timestamps;
mod unreachable;
mod x402;
mod x402_model;
