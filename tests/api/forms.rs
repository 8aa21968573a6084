//! Values that may be written in several forms.

use serde_json::json;

use crate::support::{address, everything_world, get, post};

/// Each form of a value gets the answer of its canonical form, with the same version.
#[tokio::test]
async fn forms_of_a_value_have_one_answer() {
    let world = &everything_world();
    let router = world.open_router();
    let address = world.oracle.scripts().find_map(|script| address(script)).unwrap();
    let txid = world.oracle.blocks()[7].txdata[0].compute_txid().to_string();
    let overview = |form: &str| format!("/v1/wallets/{form}/overview");
    for (canonical, forms) in [
        ("/v1/blocks/7".to_owned(), vec!["/v1/blocks/007".to_owned(), "/v1/blocks/%207%20".to_owned()]),
        (format!("/v1/tx/{txid}"), vec![format!("/v1/tx/{}", txid.to_uppercase()), format!("/v1/tx/{txid}%20")]),
        (
            overview(&address),
            vec![
                overview(&format!("%20{address}%20")),
                overview(&format!("bitcoin:{address}")),
                overview(&format!("BITCOIN:{address}%3Famount=1&label=x")),
            ],
        ),
        (
            format!("/v1/chain/awakenings?address_filter={address}"),
            vec![format!("/v1/chain/awakenings?address_filter=%20bitcoin:{address}")],
        ),
    ] {
        let expected = get(&router, &canonical).await;
        assert_eq!(expected.status, 200, "{canonical}: {}", expected.text);
        for form in forms {
            let reply = get(&router, &form).await;
            assert_eq!((reply.status, &reply.text), (200, &expected.text), "{form}");
            assert_eq!(reply.header("etag"), expected.header("etag"), "{form}");
        }
    }
    let body = json!({"addresses": [format!(" bitcoin:{address}?x ")]});
    let row = &post(&router, "/v1/batch/overview", &body).await.body["results"][0];
    assert_eq!(row["address"], address, "{row}");
}
