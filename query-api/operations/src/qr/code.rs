//! Encodes text as a QR code, and the code as an image.

use png::{BitDepth, ColorType, Encoder, EncodingError};
use qrcode::{Color, EcLevel, QrCode, Version, bits::Bits, optimize::Segment, types::QrError};

use super::segments::segments;

/// ECI designator of UTF-8 (assignment 26).
const UTF8: u32 = 26;
/// Quiet zone around the code, in modules.
const QUIET: usize = 4;
/// Pixels per module, in codes up to [`LARGE`] modules wide, and in larger ones.
const SCALES: (usize, usize) = (8, 4);
const LARGE: usize = 100;

/// The smallest code for a text, with the higher error correction if it does not make the code larger; `None` if the
/// text is too long.
pub(super) fn encode(text: &str) -> Option<QrCode> {
    let data = text.as_bytes();
    // Segment headers are longer in larger codes: there are three classes.
    let classes = [9, 26, 40].map(|last| (last, segments(data, Version::Normal(last))));
    [EcLevel::M, EcLevel::L].into_iter().find_map(|level| {
        (1..=40).find_map(|number| {
            let (_, segments) = classes.iter().find(|(last, _)| number <= *last)?;
            let bits = bits(data, segments, Version::Normal(number), level).ok()?;
            QrCode::with_bits(bits, level).ok()
        })
    })
}

/// A text in the modes with the fewest bits for codes of a version.
fn bits(data: &[u8], segments: &[Segment], version: Version, level: EcLevel) -> Result<Bits, QrError> {
    let mut bits = Bits::new(version);
    if !data.is_ascii() {
        bits.push_eci_designator(UTF8)?;
    }
    bits.push_segments(data, segments.iter().copied())?;
    bits.push_terminator(level)?;
    Ok(bits)
}

/// A code as a PNG image with one bit per pixel.
pub(super) fn picture(code: &QrCode) -> Result<Vec<u8>, EncodingError> {
    let modules = code.width();
    let scale = if modules <= LARGE { SCALES.0 } else { SCALES.1 };
    let side = (modules + 2 * QUIET) * scale;
    let colors = code.to_colors();
    let dark = |x: usize, y: usize| {
        let module = |at: usize| (at / scale).checked_sub(QUIET).filter(|at| *at < modules);
        let at = module(x).zip(module(y)).map(|(x, y)| y * modules + x);
        at.and_then(|at| colors.get(at)) == Some(&Color::Dark)
    };
    let mut rows = Vec::with_capacity(side * side.div_ceil(8));
    for y in 0..side {
        let mut row = vec![0xff_u8; side.div_ceil(8)];
        for x in (0..side).filter(|x| dark(*x, y)) {
            if let Some(byte) = row.get_mut(x / 8) {
                *byte &= !(0x80 >> (x % 8));
            }
        }
        rows.extend(row);
    }
    let mut file = Vec::new();
    // At most (177 + 8) × 4 pixels wide.
    let side = u32::try_from(side).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut file, side, side);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rows)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_codes_are_full() {
        for (text, fits) in [
            ("a".repeat(2953), true),
            ("a".repeat(2954), false),
            ("A".repeat(4096), true),
            ("7".repeat(4096), true),
            // Capitals between digits: changing the mode costs more than it saves, or all that it saves.
            ("ABC$%*+-./: 0123456789".repeat(186), true),
            ("A0123456789012".repeat(292), true),
            // Two bytes each, and 12 bits to say that they are UTF-8.
            ("ä".repeat(1476), true),
            ("ä".repeat(1477), false),
        ] {
            assert_eq!(encode(&text).is_some(), fits, "{} characters", text.chars().count());
        }
    }

    #[test]
    fn the_better_correction_is_taken_where_there_is_room() {
        assert_eq!(encode("bitcoin:").unwrap().error_correction_level(), EcLevel::M);
        assert_eq!(encode(&"a".repeat(2900)).unwrap().error_correction_level(), EcLevel::L);
        assert_eq!(encode("1").unwrap().version(), Version::Normal(1));
    }

    #[test]
    fn the_picture_shows_the_code() {
        let code = encode("HELLO").unwrap();
        let file = picture(&code).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut rows = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rows).unwrap();
        let side = (code.width() + 8) * 8;
        assert_eq!((info.width as usize, info.height as usize), (side, side));
        let dark = |x: usize, y: usize| rows[y * info.line_size + x / 8] & (0x80 >> (x % 8)) == 0;
        for y in 0..side {
            for x in 0..side {
                let inside = |at: usize| (32..side - 32).contains(&at);
                let expected = inside(x) && inside(y) && code[(x / 8 - 4, y / 8 - 4)] == Color::Dark;
                assert_eq!(dark(x, y), expected, "{x} {y}");
            }
        }
    }
}
