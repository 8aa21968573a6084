//! The promises of every stage, tested for each by one macro. Tables are sorted maps in memory here, and blocks come
//! from the chain generator or are made by hand, so that nothing of the pipeline's own code is needed.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod chains;
mod damage;
mod driver;
mod example;
mod hearing;
mod laws;
mod meaning;
mod registry;
mod toy;

macro_rules! stage_test_suite {
    ($($NAME:ident = $stage:ident::$type:ident { $($identity:tt)* })*) => {
        $(mod $stage {
            use crate::{damage, driver::stage, laws};
            const NAME: &str = cairn_tables::stages::$NAME.name;

            #[test]
            fn nothing_comes_from_nothing() {
                laws::nothing_comes_from_nothing(&*stage(NAME));
            }

            #[test]
            fn ranges_add_up() {
                laws::ranges_add_up(&*stage(NAME));
            }

            #[test]
            fn back_undoes_forward() {
                laws::back_undoes_forward(&*stage(NAME));
            }

            #[test]
            fn back_to_nothing() {
                laws::back_to_nothing(&*stage(NAME));
            }

            #[test]
            fn the_order_of_emission_does_not_matter() {
                laws::the_order_of_emission_does_not_matter(&*stage(NAME));
            }

            #[test]
            fn bulk_equals_tip() {
                laws::bulk_equals_tip(&*stage(NAME));
            }

            #[test]
            fn a_reorg_ends_like_the_straight_way() {
                laws::a_reorg_ends_like_the_straight_way(&*stage(NAME));
            }

            #[test]
            fn rows_are_of_its_own_tables() {
                laws::rows_are_of_its_own_tables(&*stage(NAME));
            }

            #[test]
            fn contradictions_are_errors() {
                damage::contradictions_are_errors(&*stage(NAME));
            }

            #[test]
            fn damaged_rows_are_errors() {
                damage::damaged_rows_are_errors(&*stage(NAME));
            }

            #[test]
            fn wrong_blocks_are_errors() {
                damage::wrong_blocks_are_errors(&*stage(NAME));
            }
        })*
    };
}

cairn_tables::for_each_stage!(stage_test_suite);
