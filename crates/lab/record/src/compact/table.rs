//! Rows of integers in few bytes: each column takes as many as the range of its values needs.

/// Bytes behind the last row, so that eight bytes can be read at every value.
const PADDING: usize = 8;

/// Rows of integers. A column whose values are all equal takes no bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    columns: Box<[Column]>,
    row_bytes: usize,
    rows: usize,
    bytes: Box<[u8]>,
}

/// Where a column's values are in a row: the difference from the least value, in little-endian order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    least: u64,
    offset: u32,
    width: u8,
}

impl Table {
    /// Packs rows of so many columns. `values` has one row after the other.
    pub(super) fn new(columns: usize, values: &[u64]) -> Table {
        let rows = values.chunks_exact(columns.max(1));
        let count = rows.len();
        let mut row_bytes = 0;
        let column = |index: usize| {
            let of_column = || rows.clone().map(|row| row[index]);
            let least = of_column().min().unwrap_or(0);
            let range = of_column().max().unwrap_or(0) - least;
            let width = (u64::BITS - range.leading_zeros()).div_ceil(8);
            let offset = row_bytes;
            row_bytes += width;
            Column {
                least,
                offset,
                width: width as u8,
            }
        };
        let columns: Box<[Column]> = (0..columns).map(column).collect();
        let row_bytes = row_bytes as usize;
        let mut bytes = Vec::with_capacity(count * row_bytes + PADDING);
        for row in rows.clone() {
            for (column, value) in columns.iter().zip(row) {
                let difference = (value - column.least).to_le_bytes();
                bytes.extend_from_slice(&difference[..usize::from(column.width)]);
            }
        }
        bytes.resize(bytes.len() + PADDING, 0);
        Table {
            columns,
            row_bytes,
            rows: count,
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns a value.
    pub(super) fn get(&self, row: usize, column: usize) -> u64 {
        let Column {
            least,
            offset,
            width,
        } = self.columns[column];
        if width == 0 {
            return least;
        }
        let at = row * self.row_bytes + offset as usize;
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.bytes[at..at + 8]);
        let unused_bits = u64::BITS - 8 * u32::from(width);
        least + (u64::from_le_bytes(eight) << unused_bits >> unused_bits)
    }

    /// Returns the bytes of memory that it takes.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        size_of::<Table>() + self.bytes.len() + size_of_val(&*self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let values = [
            [7, 0, u64::MAX, 1_000, 255],
            [7, 1, 0, 1_256, 0],
            [7, 2, 1 << 40, 1_000, 256],
        ];
        let table = Table::new(5, values.as_flattened());
        assert_eq!(table.rows(), 3);
        let widths: Vec<u8> = table.columns.iter().map(|column| column.width).collect();
        assert_eq!(widths, [0, 1, 8, 2, 2]);
        for (row, values) in values.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                assert_eq!(table.get(row, column), *value, "{row} {column}");
            }
        }
        assert_eq!(Table::new(5, &[]).rows(), 0);
    }
}
