//! The parts of commute's HTML pages: of reports, of the codec bench and of the conformance matrix.
//!
//! A [`Document`] is one file that is readable offline. It loads nothing, and its policy allows only
//! its own style sheet and script, by their hashes. It is complete without the script, which sorts and
//! filters tables, hides arms, and shows the values of a figure's marks by touch and keyboard. What only
//! some readers want is folded away ([`fold`]), and stays so on paper unless it was opened.
//!
//! Tables scroll within their own box where the screen is narrow, except those that nobody may miss
//! ([`list_table`]). Figures are SVG of our own: their
//! colours come from the style sheet, for dark mode and print, which plotting libraries do not offer.
//! Each is drawn [`WIDTH`] units wide, about a phone's width, so that its text is as large there as
//! in print; on wider screens figures stand beside each other.
//!
//! Names come from files that anyone may write: `maud` escapes them, and characters that change what
//! is around them ([`neutral::lines`]) are replaced in the whole document.

#![forbid(unsafe_code)]

mod axis;
mod document;
mod dots;
mod figure;
mod key;
mod origin;
mod table;

pub use axis::{Axis, BYTES, COUNT, PERCENT, TIME, Units, unit_of};
pub use document::Document;
pub use dots::{Dot, Row, dots};
pub use figure::{WIDTH, at, figure, figure_of, figures, grid_across, grid_up, shortened};
pub use key::{arm, color_class, key, line_classes};
pub use origin::{Origin, date};
pub use table::{fold, list_table, table, tables, text};
