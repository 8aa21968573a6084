//! Files that browsers and crawlers request on their own.

use axum::{
    body::Bytes,
    http::{HeaderValue, header},
};

use super::shell::{ICON, ICON_PATH, STYLE, STYLE_PATH};
use crate::answers::document::Document;

/// Answers are many, cheap to ask for, and of no use in a search engine; pages and descriptions are for everybody.
/// Flows and searches have no end of links, so no robot should follow them. Pages say themselves if search engines may
/// list them.
const ROBOTS: &str = "User-agent: *\nAllow: /v1/capabilities\nAllow: /v1/beta-status\nDisallow: /v1/\nDisallow: /mcp\nDisallow: /search\n\
                      Disallow: /address/*/flow\nDisallow: /address/*/risk\n";

/// All of them. They are kept for a day, and then asked for by their version.
pub(crate) fn documents() -> Vec<Document> {
    let kept =
        |document: Document| document.with(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    vec![
        kept(Document::new(ICON_PATH, "image/svg+xml", ICON)),
        kept(Document::new(STYLE_PATH, "text/css; charset=utf-8", STYLE)),
        kept(Document::new("/favicon.ico", "image/x-icon", icon())),
        kept(Document::new("/robots.txt", "text/plain; charset=utf-8", ROBOTS)),
    ]
}

/// Width and height of the icon in pixels.
const SIDE: i32 = 32;
/// The stones of the icon, as in [`ICON`]: centre and radii, in halves of a pixel.
const STONES: [(i32, i32, i32, i32); 3] = [(32, 50, 26, 10), (32, 31, 18, 8), (32, 16, 10, 6)];
/// Their colour: blue, green, red, opacity.
const COLOUR: [u8; 4] = [0x0c, 0x41, 0xc2, 0xff];
/// Bytes of the headers of file and picture.
const HEADERS: [usize; 2] = [22, 40];

/// The icon for clients that ask for `/favicon.ico` without reading a page: pages name the other one.
fn icon() -> Bytes {
    let pixels = (SIDE * SIDE) as usize;
    let (colours, mask) = (pixels * 4, pixels / 8);
    let mut file = Vec::with_capacity(HEADERS[0] + HEADERS[1] + colours + mask);
    // One picture, 32 bits for each pixel, at this place of the file.
    file.extend([0, 0, 1, 0, 1, 0, SIDE as u8, SIDE as u8, 0, 0, 1, 0, 32, 0]);
    file.extend(((HEADERS[1] + colours + mask) as u32).to_le_bytes());
    file.extend((HEADERS[0] as u32).to_le_bytes());
    // Its height counts colours and mask.
    for number in [HEADERS[1] as i32, SIDE, 2 * SIDE, 1 | 32 << 16, 0, 0, 0, 0, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    // The lowest row comes first.
    for y in (0..SIDE).rev() {
        for x in 0..SIDE {
            file.extend(if is_stone(2 * x + 1, 2 * y + 1) { COLOUR } else { [0; 4] });
        }
    }
    file.resize(file.len() + mask, 0);
    file.into()
}

fn is_stone(x: i32, y: i32) -> bool {
    STONES.into_iter().any(|(cx, cy, rx, ry)| {
        let (dx, dy) = ((x - cx) * ry, (y - cy) * rx);
        dx * dx + dy * dy <= rx * rx * ry * ry
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_is_one_picture_of_three_stones() {
        let file = icon();
        assert_eq!(file.len(), 22 + 40 + 32 * 32 * 4 + 32 * 32 / 8);
        let number = |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]) as usize;
        assert_eq!((number(14), number(18)), (file.len() - 22, 22));
        assert_eq!((number(26), number(30)), (32, 64));
        let pixel = |x: usize, y: usize| &file[62 + ((31 - y) * 32 + x) * 4..][..4];
        for (x, y) in [(16, 25), (4, 25), (16, 15), (16, 8)] {
            assert_eq!(pixel(x, y), COLOUR, "{x} {y}");
        }
        for (x, y) in [(0, 0), (31, 31), (4, 8), (2, 15)] {
            assert_eq!(pixel(x, y), [0; 4], "{x} {y}");
        }
    }
}
