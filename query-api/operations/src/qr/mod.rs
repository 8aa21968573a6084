//! QR codes.

mod code;
mod segments;

crate::area::area! {
    picture::Qr,
}
