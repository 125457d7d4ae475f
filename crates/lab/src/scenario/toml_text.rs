//! From text to TOML, and no deeper than the stack is.

use toml::de::DeTable;
use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};

use super::error::Flaw;
use super::limits;

/// How deep brackets are nested, as in the crate `toml`.
const BRACKETS: u32 = 80;

/// Parses the text of a scenario.
///
/// The crate `toml` bounds how deep brackets are nested and how long a dotted
/// key is, but not the two together: eighty brackets with eighty dots each
/// make tables so deep that dropping them overflows the stack. Scenarios have
/// no use for dotted keys, so they are refused before any table is made.
pub(crate) fn parse(text: &str) -> Result<DeTable<'_>, Flaw> {
    if text.len() > limits::FILE_BYTES {
        return Err(Flaw::new(
            0,
            format!(
                "the file has {} bytes, but a scenario has at most {}",
                text.len(),
                limits::FILE_BYTES
            ),
        ));
    }
    if let Some(at) = first_dot(text) {
        return Err(Flaw::new(
            at,
            "there are no dotted keys in a scenario; write the inner table in braces",
        ));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Flaw::new(at, format!("this is not TOML: {}", error.message()))
    })?;
    Ok(parsed.into_inner())
}

/// Where the first dot between two keys is.
fn first_dot(text: &str) -> Option<usize> {
    let tokens = Source::new(text).lex().into_vec();
    let mut dot = None;
    let mut see = |event: Event| {
        if event.kind() == EventKind::KeySep {
            dot.get_or_insert(event.span().start());
        }
    };
    // What is no TOML is found by the parse that follows.
    parse_document(
        &tokens,
        &mut RecursionGuard::new(&mut see, BRACKETS),
        &mut (),
    );
    dot
}
