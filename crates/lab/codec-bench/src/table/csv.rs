//! The table as CSV.

use super::Table;

impl Table {
    /// Formats the table as CSV, with a header and one line per row.
    pub fn csv(&self) -> Result<String, ::csv::Error> {
        let mut out = ::csv::Writer::from_writer(Vec::new());
        let figures = [
            "encode",
            "decode",
            "populate",
            "convert",
            "cold_encode",
            "cold_decode",
        ];
        let mut header: Vec<String> =
            ["message", "codec", "runtime", "library", "version", "bytes"]
                .map(String::from)
                .into();
        for figure in figures {
            header.extend(["ns", "low_ns", "high_ns"].map(|end| format!("{figure}_{end}")));
        }
        header.extend(
            [
                "encode_heap_bytes",
                "decode_heap_bytes",
                "samples",
                "runtime_version",
                "caveat",
                "problem",
            ]
            .map(String::from),
        );
        out.write_record(&header)?;
        for row in &self.rows {
            let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
            let mut record = vec![
                row.message.clone(),
                row.codec.clone(),
                row.runtime.clone(),
                row.library.clone(),
                row.version.clone(),
                row.bytes.map_or(String::new(), |n| n.to_string()),
            ];
            for cost in row.costs() {
                let ends = [
                    cost.map(|c| c.ns),
                    cost.map(|c| c.low_ns),
                    cost.map(|c| c.high_ns),
                ];
                record.extend(ends.map(number));
            }
            record.extend([row.encode, row.decode].map(|c| number(c.and_then(|c| c.heap_bytes))));
            let samples = row.encode.or(row.decode).map(|c| c.samples);
            record.push(samples.map_or(String::new(), |n| n.to_string()));
            record.push(row.runtime_version.clone());
            record.extend([&row.caveat, &row.problem].map(|t| t.clone().unwrap_or_default()));
            out.write_record(record.iter().map(|text| neutral::cell(text)))?;
        }
        let bytes = out
            .into_inner()
            .map_err(::csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
