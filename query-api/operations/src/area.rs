//! Declaration of an area in its `mod.rs`: the operations that it has.

/// Declares the operations of an area, in the order in which they are listed: each is a file beside the one that calls
/// this. Those with `+ batch` can be asked about many addresses at once, too.
macro_rules! area {
    ($($file:ident::$operation:ident $(+ $batch:ident)?,)+) => {
        $(pub(crate) mod $file;)+

        pub(crate) const OPERATIONS: &[$crate::operation::ToLine] = &[$($crate::operation::line::<$file::$operation>),+];
        pub(crate) const BATCHES: &[$crate::operation::ToLine] =
            &[$($($crate::batch::$batch::<$file::$operation>,)?)+];
    };
}
pub(crate) use area;
