//! A database that is away.

use std::{
    net::TcpListener,
    str::FromStr,
    time::{Duration, Instant},
};

use cairn_state::{State, StateError, StateUrl};

#[tokio::test]
async fn a_server_that_is_away_is_an_error_that_may_pass_and_names_no_secret() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = StateUrl::from_str(&format!("postgres://ann:hunter2@127.0.0.1:{port}/cairn")).unwrap();
    let state = State::of(&url);
    let started = Instant::now();
    let error = state.ready().await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(matches!(error, StateError::Database { .. }) && error.may_pass(), "{error:?}");
    for text in [error.to_string(), format!("{error:?}"), format!("{state:?}")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}
