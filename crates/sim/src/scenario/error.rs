//! What is wrong with a scenario, where, and what is allowed.

use std::borrow::Cow;
use std::fmt;

/// A scenario that is refused: `FILE:LINE:COLUMN: key ...: why; allowed: ...`, or `--set TEXT: ...` for an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: Option<String>,
    key: Path,
    what: String,
}

impl Error {
    /// `what` is wrong with `key`; the place in the text is filled in by whoever knows the text.
    pub(super) fn new(key: Path, what: impl Into<String>) -> Self {
        Self { place: None, key, what: what.into() }
    }

    /// This error, at `place`.
    pub(super) fn at(self, place: String) -> Self {
        Self { place: Some(place), ..self }
    }

    pub(super) fn key(&self) -> &Path {
        &self.key
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
pub(super) struct Path(pub(super) Vec<Step>);

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(Cow<'static, str>),
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
    pub(super) fn then(&self, step: impl Into<Step>) -> Self {
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
