//! Lists that a publisher replaces as a whole: of a list of a source, the document that was retrieved last holds. Their
//! rows are about no script: tags of mining pools, and profiles of entities.

use crate::{
    PoolTag, Profile,
    listed::{BadListing, check, put_listed},
};

/// Declares the kinds of lists.
macro_rules! listings {
    ($($(#[$doc:meta])+ $kind:ident: $row:ident = $name:literal;)*) => {
        /// Rows of a list, of one kind.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Listing {
            $($(#[$doc])+ $kind(Vec<$row>),)*
        }

        impl Listing {
            /// Name of the kind: in small letters, in the plural.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Listing::$kind(_) => $name,)*
                }
            }

            /// Number of rows.
            #[must_use]
            pub fn len(&self) -> usize {
                match self {
                    $(Listing::$kind(rows) => rows.len(),)*
                }
            }

            /// True if there are none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Checks the rules that the type does not enforce.
            pub(crate) fn check(&self) -> Result<(), BadListing> {
                match self {
                    $(Listing::$kind(rows) => check(rows),)*
                }
            }

            /// Appends the rows.
            pub fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Listing::$kind(rows) => put_listed(out, rows),)*
                }
            }

            /// Adds rows of the same kind; those of another are not added.
            pub fn append(&mut self, more: Listing) {
                match (self, more) {
                    $((Listing::$kind(rows), Listing::$kind(more)) => rows.extend(more),)*
                    _ => {}
                }
            }
        }

        $(impl From<Vec<$row>> for Listing {
            fn from(rows: Vec<$row>) -> Self {
                Listing::$kind(rows)
            }
        })*
    };
}

listings! {
    /// Tags of mining pools.
    PoolTags: PoolTag = "pool_tags";
    /// Profiles of entities.
    Profiles: Profile = "profiles";
}
