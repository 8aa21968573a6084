//! The columns of a table: a field of the row gives both the name of its column and the cell.

use cairn_events::Currency;

use crate::values::{Decimal, Fiat, PriceNumber};

/// A value as a cell shows it.
pub(crate) trait Cell {
    fn cell(&self) -> String;
}

macro_rules! displayed {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(&self) -> String {
                self.to_string()
            }
        })+
    };
}

displayed!(bool, u8, u16, u32, u64, i64, usize, str, String, Currency, Fiat, PriceNumber);

impl<const PLACES: usize> Cell for Decimal<PLACES> {
    fn cell(&self) -> String {
        self.to_string()
    }
}

impl<T: Cell + ?Sized> Cell for &T {
    fn cell(&self) -> String {
        (**self).cell()
    }
}

/// Empty without a value.
impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> String {
        self.as_ref().map(T::cell).unwrap_or_default()
    }
}

/// With spaces between them.
impl Cell for Vec<String> {
    fn cell(&self) -> String {
        self.join(" ")
    }
}

/// Declares the columns of a row: fields, and `name: |row| value` where the cell is not just the field of that name.
macro_rules! columns {
    ($row:ty { $($name:ident $(: |$of:ident| $cell:expr)?),+ $(,)? }) => {
        impl cairn_http::TableRow for $row {
            const COLUMNS: &'static [cairn_http::Column<Self>] =
                &[$((stringify!($name), $crate::vocabulary::columns::columns!(@ $name $(, $of, $cell)?))),+];
        }
    };
    (@ $name:ident) => { |row| $crate::vocabulary::columns::Cell::cell(&row.$name) };
    (@ $name:ident, $of:ident, $cell:expr) => { |$of| $crate::vocabulary::columns::Cell::cell(&$cell) };
}
pub(crate) use columns;
