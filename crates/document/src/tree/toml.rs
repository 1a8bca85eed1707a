//! TOML as a tree. A scan of the tokens bounds the depth before the parser sees the text.

use super::{Entry, Node, Origin, Syntax, Value, DEEPEST};
use toml::de::{DeTable, DeValue};
use toml::Spanned;
use toml_parser::lexer::TokenKind;
use toml_parser::Source;

pub(super) fn parse(text: &str) -> Result<Node, Syntax> {
    scan(text, Nesting::default())?;
    let table = DeTable::parse(text).map_err(|e| syntax(&e, text))?;
    from_table(table.span().start, table.get_ref(), &Origin::Text, 1)
}

pub(super) fn parse_value(text: &str, origin: Origin, above: usize) -> Result<Option<Node>, Syntax> {
    scan(text, Nesting { levels_before: above.saturating_sub(1), in_value: true, ..Nesting::default() })?;
    DeValue::parse(text).ok().map(|value| from_value(&value, &|_| origin, above + 1)).transpose()
}

fn syntax(error: &toml::de::Error, text: &str) -> Syntax {
    let at = error.span().map_or(text.len(), |span| span.start);
    Syntax { at, why: error.message().trim().replace('\n', ", ") }
}

/// How deep the scan is.
#[derive(Default)]
struct Nesting {
    /// Levels that the value's place or the last header made.
    levels_before: usize,
    /// Of every bracket that is open: which one closes it, and the dots of the key that it is the value of.
    open: Vec<(TokenKind, usize)>,
    /// Sum of the dots in `open`.
    dots_open: usize,
    /// Dots since the last token that ends a key or a value.
    dots: usize,
    /// Dots of the key whose value begins.
    key_dots: usize,
    in_value: bool,
    in_header: bool,
}

impl Nesting {
    /// Levels at this token. The dots of a long number count where no number is allowed to be so long.
    fn levels(&self) -> usize {
        let dots = if self.in_value && self.dots < 2 { 0 } else { self.dots };
        self.levels_before + self.open.len() + self.dots_open + dots
    }

    fn open(&mut self, closing: TokenKind) {
        let dots = std::mem::take(&mut self.key_dots);
        self.open.push((closing, dots));
        self.dots_open += dots;
        self.dots = 0;
        self.in_value = closing == TokenKind::RightSquareBracket && !self.in_header;
    }

    /// Leaves the innermost bracket where `closing` closes it. A stray one closes nothing, so that a text with mistakes is
    /// never deeper for the parser than here.
    fn close(&mut self, closing: TokenKind) {
        if self.in_header || self.open.last().is_none_or(|(kind, _)| *kind != closing) {
            return;
        }
        self.dots_open -= self.open.pop().map_or(0, |(_, dots)| dots);
        self.dots = 0;
        self.in_value = true;
    }

    fn end_of_line(&mut self) {
        if self.in_header {
            self.levels_before = self.open.len() + self.dots;
            self.open.clear();
            self.in_header = false;
        }
        if self.open.is_empty() {
            (self.dots, self.key_dots) = (0, 0);
            self.in_value = false;
        }
    }
}

/// Refuses a text that the parser, which calls itself for every level, would follow too far down.
fn scan(text: &str, mut nesting: Nesting) -> Result<(), Syntax> {
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket => {
                if nesting.open.is_empty() && !nesting.in_value {
                    nesting.in_header = true;
                    nesting.levels_before = 0;
                }
                nesting.open(TokenKind::RightSquareBracket);
            }
            TokenKind::LeftCurlyBracket => nesting.open(TokenKind::RightCurlyBracket),
            closing @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => nesting.close(closing),
            TokenKind::Dot => nesting.dots += 1,
            TokenKind::Equals => {
                nesting.key_dots = std::mem::take(&mut nesting.dots);
                nesting.in_value = true;
            }
            TokenKind::Comma => {
                (nesting.dots, nesting.key_dots) = (0, 0);
                nesting.in_value = nesting.open.last().is_none_or(|(kind, _)| *kind == TokenKind::RightSquareBracket);
            }
            TokenKind::Newline => nesting.end_of_line(),
            _ => continue,
        }
        // The document itself is the first level.
        if nesting.levels() + 1 > DEEPEST {
            return Err(Syntax::too_deep(token.span().start()));
        }
    }
    Ok(())
}

type At<'a> = &'a dyn Fn(usize) -> Origin;

/// `level` is that of the table itself; tables between headers are not in the scan's count, so it is checked here.
fn from_table(start: usize, table: &DeTable<'_>, at: At<'_>, level: usize) -> Result<Node, Syntax> {
    if level > DEEPEST {
        return Err(Syntax::too_deep(start));
    }
    let entry = |(key, value): (&Spanned<toml::de::DeString<'_>>, &Spanned<DeValue<'_>>)| {
        Ok(Entry {
            key: key.get_ref().to_string(),
            origin: at(key.span().start),
            node: from_value(value, at, level + 1)?,
        })
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect::<Result<_, _>>()?;
    // The parser sorts by key; the first mistake a reader meets should be the first reported.
    entries.sort_by_key(|e| match e.origin {
        Origin::Text(at) => at,
        Origin::Set(_) => 0,
    });
    Ok(Node { origin: at(start), value: Value::Table(entries) })
}

/// `level` is that of the value if it is a table or a list.
fn from_value(value: &Spanned<DeValue<'_>>, at: At<'_>, level: usize) -> Result<Node, Syntax> {
    let start = value.span().start;
    let read = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => Value::Float(n.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(x) => Value::Float(x.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(_) if level > DEEPEST => return Err(Syntax::too_deep(start)),
        DeValue::Array(values) => {
            Value::List(values.iter().map(|v| from_value(v, at, level + 1)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return from_table(start, table, at, level),
    };
    Ok(Node { origin: at(start), value: read })
}
