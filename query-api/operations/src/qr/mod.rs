//! QR codes.

mod code;
mod segments;

crate::operation::area! {
    picture::Qr,
}
