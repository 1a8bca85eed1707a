//! What is wrong with a document, where, and what is allowed.

use std::borrow::Cow;
use std::fmt;

/// A document that is refused: `FILE:LINE:COLUMN: key ...: why; allowed: ...`, or `--set TEXT: ...` for an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: Option<String>,
    key: Path,
    what: String,
}

impl Error {
    /// `what` is wrong with `key`; the place in the text is filled in by whoever knows the text.
    #[must_use]
    pub fn new(key: Path, what: impl Into<String>) -> Self {
        Self { place: None, key, what: what.into() }
    }

    /// This error, at `place`.
    #[must_use]
    pub fn at(self, place: String) -> Self {
        Self { place: Some(place), ..self }
    }

    /// What is wrong is the value of this key.
    #[must_use]
    pub fn key(&self) -> &Path {
        &self.key
    }

    /// What is wrong, and what is allowed.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if !self.key.0.is_empty() {
            write!(f, "key `{}`: ", self.key)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

/// A place in the document: `links[0].rate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(Cow<'static, str>),
    /// Into a list.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Path {
    /// This path and one step more.
    #[must_use]
    pub fn then(&self, step: impl Into<Step>) -> Self {
        let mut path = self.clone();
        path.0.push(step.into());
        path
    }
}

impl<const N: usize> From<[Step; N]> for Path {
    fn from(steps: [Step; N]) -> Self {
        Self(steps.to_vec())
    }
}

impl From<&'static str> for Path {
    fn from(key: &'static str) -> Self {
        Self(vec![key.into()])
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
