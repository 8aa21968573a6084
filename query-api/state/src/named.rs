//! Enums whose variants have names in the database.

/// Declares an enum whose variants have names.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$of])* $variant),+
        }

        impl $name {
            /// All variants, in their order.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$variant),+];

            /// Its name in snake case.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text),+
                }
            }

            /// The variant with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                $name::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
pub(crate) use named;
