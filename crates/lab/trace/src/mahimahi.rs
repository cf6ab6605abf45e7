//! Files of delivery opportunities, as the Saturator records them and Mahimahi reads them (Winstein et al., NSDI 2013;
//! Netravali et al., USENIX ATC 2015): one whole number of milliseconds per line, in order. The last is the period.

use std::io::BufRead;

use link::Trace;

use crate::error::{ImportError, shown};
use crate::imported::{Imported, Span, added_note, mixed_note};
use crate::interval::{NoTrace, check_duration};
use crate::lines::Lines;
use crate::{MAX_BPS, words};

/// A first time of this or more is noted, because others may count from another moment than 0.
const LONG_BEGIN_MS: u32 = 1000;
/// Most opportunities within a millisecond, by the fastest rate.
const MAX_PER_MS: u64 = MAX_BPS.div_ceil(1000 * Trace::OPPORTUNITY_BYTES as u64 * 8);

pub(crate) fn import(input: impl BufRead, span: Span) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(input);
    let from_ms = span.from_us.div_ceil(1000);
    let until_ms = (span.for_us).map_or(u64::MAX, |us| from_ms.saturating_add(us / 1000));
    let mut times_ms: Vec<u32> = Vec::new();
    // How many are in the span, of which not all may be kept.
    let mut in_span = 0_u128;
    let (mut last_ms, mut in_this_ms, mut read) = (0, 0, 0_u64);
    while let Some((line, text)) = lines.next()? {
        let text = text.trim();
        let at_ms: u64 = text.parse().map_err(|_| not_a_time(line, text))?;
        if at_ms < last_ms {
            let message = format!(
                "the time {at_ms} is before {last_ms}, that of the line before; put the times in order"
            );
            return Err(ImportError::at(line, message));
        }
        in_this_ms = if at_ms == last_ms { in_this_ms + 1 } else { 1 };
        if in_this_ms > MAX_PER_MS {
            let message = format!(
                "more than {MAX_PER_MS} opportunities at {at_ms} ms are more than 20 Gbit/s, the peak rate of 5G \
                 (ITU-R M.2410), so the times likely have another unit than ms"
            );
            return Err(ImportError::at(line, message));
        }
        last_ms = at_ms;
        read += 1;
        // An opportunity at the begin belongs to what is before it, as the file's last one does.
        if at_ms <= until_ms && (at_ms > from_ms || from_ms == 0) {
            in_span += 1;
            if times_ms.len() < Trace::MAX_OPPORTUNITIES {
                // A trace of more than a day is refused below.
                times_ms.push(u32::try_from(at_ms - from_ms).unwrap_or(u32::MAX));
            }
        }
    }
    if read == 0 {
        return Err(ImportError::whole(
            "the file is empty; it needs one time in ms for each 1500 bytes",
        ));
    }
    if last_ms == 0 {
        return Err(ImportError::whole(
            "the trace has no length; its last time must be above 0",
        ));
    }
    if from_ms >= last_ms {
        return Err(ImportError::whole(format!(
            "--from is at or after the end, {}",
            words::duration(last_ms.saturating_mul(1000))
        )));
    }
    let period_us = (last_ms.min(until_ms) - from_ms).saturating_mul(1000);
    check_duration(period_us)?;
    if in_span == 0 {
        return Err(ImportError::whole(
            "nothing is delivered in the part that --from and --for select; select another",
        ));
    }
    let mut notes = vec![format!(
        "read {read} opportunities of 1500 bytes, one time in ms per line"
    )];
    notes.extend(mixed_note(lines.mixed_at()));
    // At most a day.
    let period_ms = (period_us / 1000) as u32;
    if let Some(&first_ms) = times_ms.first()
        && first_ms >= LONG_BEGIN_MS
    {
        notes.push(format!(
            "nothing is delivered in the first {}, because times count from 0",
            words::duration(u64::from(first_ms) * 1000)
        ));
    }
    let is_added = times_ms.last() != Some(&period_ms);
    if is_added && in_span <= Trace::MAX_OPPORTUNITIES as u128 {
        in_span += 1;
        times_ms.push(period_ms);
    }
    if in_span > Trace::MAX_OPPORTUNITIES as u128 {
        let error = NoTrace::TooMany {
            count: in_span,
            us: period_us,
        };
        return Err(error.into());
    }
    let trace = Trace::new(times_ms).map_err(|e| ImportError::whole(e.to_string()))?;
    if is_added {
        let bits = ((in_span - 1) as u64 * u64::from(Trace::OPPORTUNITY_BYTES) * 8) as f64;
        notes.push(added_note(&trace, bits * 1e6 / period_us as f64));
    }
    Ok(Imported { trace, notes })
}

fn not_a_time(line: u64, text: &str) -> ImportError {
    let has_columns = text.contains([' ', ',', ';', '\t']);
    let hint = match text.parse::<f64>() {
        _ if has_columns => "; for columns of time and rate use another --format",
        Ok(_) => "; round times to ms, and begin at 0",
        Err(_) => "",
    };
    let message = format!(
        "{} is not a whole number of milliseconds, e.g. 12{hint}",
        shown(text)
    );
    ImportError::at(line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import_span(text: &str, from_ms: u64, for_ms: Option<u64>) -> Result<Imported, String> {
        let span = Span {
            from_us: from_ms * 1000,
            for_us: for_ms.map(|ms| ms * 1000),
        };
        import(text.as_bytes(), span).map_err(|e| e.to_string())
    }

    fn times(text: &str, from_ms: u64, for_ms: Option<u64>) -> Result<Vec<u32>, String> {
        let imported = import_span(text, from_ms, for_ms)?;
        Ok(imported.trace.times_ms().to_vec())
    }

    #[test]
    fn times_are_read_as_they_are() {
        let imported = import_span("0\r\n3\n\n3\n 10 \n", 0, None).unwrap();
        assert_eq!(imported.trace.times_ms(), [0, 3, 3, 10]);
        assert_eq!(
            imported.notes,
            [
                "read 4 opportunities of 1500 bytes, one time in ms per line",
                "line ends are LF and CRLF, mixed from line 2 on; both were read"
            ]
        );
    }

    #[test]
    fn a_part_begins_at_zero_and_ends_with_its_period() {
        let text = "0\n3\n5\n5\n8\n20\n";
        assert_eq!(times(text, 5, Some(3)), Ok(vec![3]));
        assert_eq!(times(text, 4, Some(6)), Ok(vec![1, 1, 4, 6]));
        assert_eq!(times(text, 0, Some(5)), Ok(vec![0, 3, 5, 5]));
        assert_eq!(times(text, 8, None), Ok(vec![12]));
        let error = times(text, 20, None).unwrap_err();
        assert_eq!(error, "--from is at or after the end, 20 ms");
        let error = times(text, 9, Some(5)).unwrap_err();
        assert!(error.starts_with("nothing is delivered in the part"));
        let notes = import_span(text, 4, Some(6)).unwrap().notes;
        assert!(notes[1].starts_with("added an opportunity at the end"));
        let notes = import_span("1000\n1001\n", 0, None).unwrap().notes;
        assert!(notes[1].starts_with("nothing is delivered in the first 1 s"));
        assert_eq!(import_span("999\n", 0, None).unwrap().notes.len(), 1);
    }

    #[test]
    fn mistakes_name_their_line_and_what_would_be_right() {
        for (text, message) in [
            ("", "the file is empty"),
            ("\n\n", "the file is empty"),
            ("0\n0\n", "the trace has no length"),
            ("1\n\n5\n4\n", "line 4: the time 4 is before 5"),
            ("1\n-5\n", "line 2: \"-5\" is not a whole number"),
            ("x\n", "line 1: \"x\" is not a whole number"),
            (
                "1.5\n",
                "line 1: \"1.5\" is not a whole number of milliseconds, e.g. 12; round",
            ),
            (
                "0 65.0\n",
                "line 1: \"0 65.0\" is not a whole number of milliseconds, e.g. 12; for columns",
            ),
            (
                "99999999999999999999\n",
                "line 1: \"99999999999999999999\" is not",
            ),
            (
                "1\n86400001\n",
                "the trace takes 86400.001 s, more than a day",
            ),
            ("1\n18446744073709551615\n", "the trace takes "),
        ] {
            let error = times(text, 0, None).unwrap_err();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        assert!(times("1\n600001\n", 0, None).is_ok());
    }

    #[test]
    fn rates_above_the_limit_are_refused() {
        let most = "7\n".repeat(MAX_PER_MS as usize);
        assert_eq!(times(&most, 0, None).unwrap().len(), 1667);
        let error = times(&(most + "7\n"), 0, None).unwrap_err();
        let expected = "line 1668: more than 1667 opportunities at 7 ms";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn as_many_opportunities_as_a_network_reads_are_kept() {
        const MOST: usize = Trace::MAX_OPPORTUNITIES;
        // A thousand at each millisecond.
        let lines = |count: usize| -> String {
            let times = 1..=count / 1000;
            times.map(|ms| format!("{ms}\n").repeat(1000)).collect()
        };
        let text = lines(MOST + 1000);
        let error = times(&text, 0, None).unwrap_err();
        assert!(
            error.starts_with("the trace has 5001000 ") && error.contains("e.g. with --for 4s"),
            "{error}"
        );
        assert_eq!(times(&text, 1, None).unwrap().len(), MOST);
        // All fit but the one that would be added at the end.
        let text = lines(MOST) + "5003\n";
        let error = times(&text, 0, Some(5002)).unwrap_err();
        assert!(error.starts_with("the trace has 5000001 "), "{error}");
        assert_eq!(times(&text, 0, Some(5000)).unwrap().len(), MOST);
    }
}
