//! Files that a document names.

use std::path::PathBuf;

/// What is in a file that a document names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Captured packets, which are read from the file.
    Capture(PathBuf),
}

impl From<&str> for Content {
    /// Without a byte order mark before it.
    fn from(text: &str) -> Self {
        Self::Text(text.trim_start_matches('\u{feff}').to_owned())
    }
}

impl Content {
    /// The text.
    ///
    /// # Errors
    /// A capture, which is none.
    pub fn text(&self) -> Result<&str, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Capture(_) => {
                Err("is a capture, which traffic of kind \"replay\" reads; allowed here: text".to_owned())
            }
        }
    }
}
