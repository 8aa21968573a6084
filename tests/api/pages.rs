//! Pages, and files that browsers and crawlers request: where they are, and what the README says of them.

use cairn_http::HttpConfig;
use cairn_operations::ApiConfig;

use crate::{
    discovery::fetch,
    support::{assert_problem, everything_world, get, open_config},
};

/// People type paths with and without a slash at the end, and browsers and crawlers ask for files on their own.
#[tokio::test]
async fn pages_have_one_place_and_redirects_lead_there() {
    let world = &everything_world();
    let router = world.open_router();
    for (asked, place, target) in [
        ("/getting-started/", "../getting-started", "/getting-started"),
        ("/api/reference", "reference/", "/api/reference/"),
        ("/api/reference/errors?x=1", "errors/?x=1", "/api/reference/errors/?x=1"),
        (
            "/api/reference/definitions/mempool-stress/",
            "../mempool-stress",
            "/api/reference/definitions/mempool-stress",
        ),
        ("/llms.txt/", "../llms.txt", "/llms.txt"),
    ] {
        let reply = get(&router, asked).await;
        assert_eq!((reply.status, reply.header("location")), (308, place), "{asked}");
        assert_eq!(fetch(&router, target).await.0, 200, "{target}");
    }
    assert_problem(&get(&router, "/getting-starte/").await, 404, "route_not_found");
    let (status, kind, text) = fetch(&router, "/robots.txt").await;
    assert_eq!((status, kind.as_str()), (200, "text/plain; charset=utf-8"));
    assert!(text.starts_with("User-agent: *\n") && text.contains("\nDisallow: /v1/\n"), "{text}");
    for (path, expected) in [("/favicon.ico", "image/x-icon"), ("/favicon.svg", "image/svg+xml")] {
        let (status, kind, _) = fetch(&router, path).await;
        assert_eq!((status, kind.as_str()), (200, expected), "{path}");
    }
}

/// The README names paths that answer, and the operations that may need a key, as the page for newcomers does.
#[tokio::test]
async fn the_readme_names_what_there_is() {
    let world = &everything_world();
    let router = world.open_router();
    let readme = std::fs::read_to_string(cairn_testkit::workspace_root().join("README.md")).unwrap();
    for path in ["/llms.txt", "/agents.json", "/openapi.json"] {
        assert!(readme.contains(&format!("`{path}`")), "{path}");
    }
    for path in readme.split('`').skip(1).step_by(2).filter(|text| text.starts_with('/') && text.contains('.')) {
        assert_eq!(fetch(&router, path).await.0, 200, "{path}");
    }
    let gated = ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http });
    let page = fetch(&world.router(gated), "/getting-started").await.2;
    let listed: Vec<&str> = page.split("<li><code>").skip(1).filter_map(|rest| rest.split("</code>").next()).collect();
    assert!(listed.len() >= 4, "{page}");
    let about_keys = readme.split("**Limits and keys.**").nth(1).unwrap().split("\n\n").next().unwrap();
    for path in listed {
        assert!(about_keys.contains(&format!("`{path}`")), "{path}");
    }
    for text in [&page, &readme] {
        for command in text.split("cairn keys issue").skip(1) {
            assert!(command.trim_start().starts_with("--datadir"), "{command:.60}");
        }
    }
}
