//! The words of a command line.

use super::CurlError;

/// Returns the first simple command of a text that was pasted, without redirections: what follows a pipe, `;` or `&&`
/// is another one. Fails if the text is for another shell than POSIX's.
pub(super) fn first_command(text: &str) -> Result<String, CurlError> {
    let text = text.trim().replace("\r\n", "\n");
    let begins = |with: &str| text.to_ascii_lowercase().starts_with(with);
    if begins("invoke-webrequest") || begins("$session") {
        return Err(CurlError::Shell("a command for PowerShell"));
    }
    if begins("fetch(") || begins("await fetch(") {
        return Err(CurlError::Shell("JavaScript"));
    }
    let text = text.strip_prefix("# ").unwrap_or(&text);
    if text.contains("^\n") || text.contains(" ^\"") {
        return Err(CurlError::Shell("a command for Windows' cmd"));
    }
    let mut out = String::new();
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            // Within $'...' a backslash goes before a quote, too, which the next step reads.
            ('\\', None | Some('"' | '$')) => {
                out.push(c);
                // Blanks after the backslash that a line goes on with.
                let mut ahead = chars.clone();
                let goes_on = ahead.find(|c| *c != ' ' && *c != '\t') == Some('\n');
                if goes_on && quote.is_none() {
                    (chars, out) = (ahead, format!("{out}\n"));
                } else {
                    out.extend(chars.next());
                }
                continue;
            }
            ('$', None) if chars.peek() == Some(&'\'') => {
                out.push(c);
                out.extend(chars.next());
                quote = Some('$');
                continue;
            }
            ('\'', Some('$')) => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('<', None) if chars.peek() == Some(&'<') => return Err(CurlError::HereDocument),
            ('<' | '>', None) => {
                // The number of a stream belongs to it, or `&` for both, and so does the word that follows.
                if out.ends_with('&') {
                    out.pop();
                }
                let digits = out.trim_end_matches(|c: char| c.is_ascii_digit()).len();
                if out[..digits].ends_with(char::is_whitespace) {
                    out.truncate(digits);
                }
                while chars
                    .next_if(|c| "<>&|".contains(*c) || c.is_whitespace())
                    .is_some()
                {}
                let mut inner = None;
                let goes_on = |inner: Option<char>, c: &char| {
                    inner.is_some() || !(c.is_whitespace() || ";|&<>".contains(*c))
                };
                while let Some(c) = chars.next_if(|c| goes_on(inner, c)) {
                    inner = match inner {
                        Some(q) if q == c => None,
                        None if matches!(c, '\'' | '"') => Some(c),
                        same => same,
                    };
                }
                continue;
            }
            ('|' | ';', None) => break,
            ('&', None) if chars.peek().is_none_or(|c| *c == '&' || c.is_whitespace()) => break,
            (c, Some(q)) if c == q && q != '$' => quote = None,
            _ => {}
        }
        out.push(c);
    }
    Ok(out)
}

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

/// Reads up to the closing quote of `$'...'`, with bash's escapes.
fn dollar_quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut text: Vec<u8> = Vec::new();
    let push = |text: &mut Vec<u8>, c: char| text.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
    loop {
        match chars.next()? {
            // Bash ends a text at a NUL.
            '\'' => {
                let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
                return Some(String::from_utf8_lossy(&text[..end]).into_owned());
            }
            '\\' => match chars.next()? {
                'a' => text.push(0x07),
                'b' => text.push(0x08),
                'e' | 'E' => text.push(0x1b),
                'f' => text.push(0x0c),
                'n' => text.push(b'\n'),
                'r' => text.push(b'\r'),
                't' => text.push(b'\t'),
                'v' => text.push(0x0b),
                'u' => push(&mut text, character(number(chars, 16, 4)?)),
                'U' => push(&mut text, character(number(chars, 16, 8)?)),
                'x' => text.push(number(chars, 16, 2)? as u8),
                c @ '0'..='7' => {
                    let first = c.to_digit(8)?;
                    let more = chars.clone().take_while(|c| c.is_digit(8)).take(2).count();
                    let rest = number(chars, 8, 2).unwrap_or(0);
                    text.push((first * 8_u32.pow(more as u32) + rest) as u8);
                }
                c => push(&mut text, c),
            },
            c => push(&mut text, c),
        }
    }
}

/// Reads a number of at most `digits` digits; none if there is no digit.
fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    digits: usize,
) -> Option<u32> {
    let mut number = None;
    for _ in 0..digits {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        chars.next();
        number = Some(number.unwrap_or(0) * radix + digit);
    }
    number
}

/// Returns the character with this code; half of a surrogate pair is replaced.
fn character(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}
