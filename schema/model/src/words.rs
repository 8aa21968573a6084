//! Enums whose variants each have a word.

/// Declares an enum of which each variant has a word: `ALL`, the variants in this order, and the function that returns
/// the word. With `, Display` behind the function, the enum is displayed as its word.
///
/// ```
/// cairn_model::words! {
///     /// Side of a coin.
///     #[derive(Clone, Copy, Debug)]
///     pub enum Side {
///         /// With the portrait.
///         Heads = "heads",
///         /// With the number.
///         Tails = "tails",
///     }
///     /// The word, as answers have it.
///     pub fn as_str, Display;
/// }
/// assert_eq!(Side::ALL.map(Side::as_str), ["heads", "tails"]);
/// assert_eq!(Side::Heads.to_string(), "heads");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident $(: $code:literal)? = $word:literal),+ $(,)?
        }
        $(#[$word_meta:meta])* $word_vis:vis fn $function:ident $(, $display:ident)?;
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* $variant $(= $code)?),+
        }

        #[allow(dead_code, reason = "not every enum is walked through")]
        impl $name {
            /// All, in the order of their declaration.
            $vis const ALL: [$name; [$($name::$variant),+].len()] = [$($name::$variant),+];

            $(#[$word_meta])*
            #[must_use]
            $word_vis const fn $function(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }

        $(impl std::fmt::$display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.$function())
            }
        })?
    };
}
