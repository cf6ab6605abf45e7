//! The words of a command line.

/// Splits a command into words as bash does; none if its quotes do not match.
pub(super) fn split(command: &str) -> Option<Vec<String>> {
    shlex::split(&without_dollar_quotes(command)?)
}

/// Rewrites bash's `$'...'`, which browsers use for bodies and POSIX lacks, as plain quotes.
fn without_dollar_quotes(command: &str) -> Option<String> {
    let mut out = String::new();
    let mut quote = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('$', None) if chars.next_if_eq(&'\'').is_some() => {
                let text = dollar_quoted(&mut chars)?;
                out.push_str(&shlex::try_quote(&text).ok()?);
                continue;
            }
            ('\'' | '"', None) => quote = Some(c),
            // A line that goes on; `shlex` would make an empty word of it.
            ('\\', None | Some('"')) if chars.next_if_eq(&'\n').is_some() => continue,
            ('\\', None | Some('"')) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
        out.push(c);
    }
    Some(out)
}

/// Reads up to the closing quote of `$'...'`, with the escapes that browsers write.
fn dollar_quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            '\'' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'u' => text.push(hex(chars, 4)?),
                'x' => text.push(hex(chars, 2)?),
                c => text.push(c),
            },
            c => text.push(c),
        }
    }
}

/// A character by at most so many hexadecimal digits; half of a surrogate pair is replaced.
fn hex(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, digits: usize) -> Option<char> {
    let mut code = None;
    for _ in 0..digits {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else {
            break;
        };
        chars.next();
        code = Some(code.unwrap_or(0) * 16 + digit);
    }
    Some(char::from_u32(code?).unwrap_or(char::REPLACEMENT_CHARACTER))
}
