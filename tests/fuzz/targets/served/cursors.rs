//! Cursors of every list: each is accepted, refused or expired, and leads to a page that has a next one.

use std::sync::LazyLock;

use super::world::World;

/// A list with cursors, and one of its own.
struct List {
    path: String,
    rows: &'static str,
    real: Vec<u8>,
}

static LISTS: LazyLock<Vec<List>> = LazyLock::new(|| {
    let world = World::get();
    let paths = [
        ("/v1/chain/recent-blocks?limit=2".to_owned(), "blocks"),
        (format!("/v1/wallets/{}/transactions?limit=2", world.busy), "transactions"),
        (format!("/v1/blocks/{}?tx_limit=2", world.block), "transactions"),
    ];
    let list = |(path, rows): (String, &'static str)| {
        let page = world.get_path(&path).json();
        let cursor = page["next_cursor"].as_str().unwrap_or_else(|| panic!("{path} has one page: {page}"));
        let real = hex::decode(cursor).unwrap_or_else(|_| panic!("{path}: {cursor}"));
        assert!(page[rows].is_array(), "{path} has no list {rows}: {page}");
        List { path, rows, real }
    };
    paths.map(list).into()
});

/// The list (modulo three, and three more for the text itself), then what a real cursor of it is XORed with, or a text.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let (count, choice) = (LISTS.len(), usize::from(*choice));
    let list = &LISTS[choice % count];
    let token: String = if choice % (2 * count) < count {
        let mask = rest.iter().copied().chain(std::iter::repeat(0));
        hex::encode(list.real.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect::<Vec<u8>>())
    } else {
        rest.iter().map(|byte| format!("%{byte:02X}")).collect()
    };
    // Longer targets do not reach the router.
    if token.len() > 60_000 {
        return;
    }
    let world = World::get();
    let mut cursor = Some(token);
    for page in 0..2 {
        let Some(token) = cursor else { return };
        let answer = world.get_path(&format!("{}&cursor={token}", list.path));
        answer.assert_documented();
        // 400: the text is not UTF-8.
        if page == 0 && matches!(answer.status, 400 | 409 | 422) {
            return;
        }
        assert_eq!(answer.status, 200, "page {page} of {}: {}", list.path, answer.text());
        let body = answer.json();
        assert!(body[list.rows].as_array().unwrap().len() <= 2, "{body}");
        cursor = body["next_cursor"].as_str().map(str::to_owned);
    }
}
