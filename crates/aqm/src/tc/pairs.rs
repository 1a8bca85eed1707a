//! Parameters as written, on their way to the library's own.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// `(key, value)` in the order of the text; of two with one key the later counts.
pub(super) struct Pairs(pub Vec<(String, String)>);

impl Pairs {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub fn has(&self, keys: &[&str]) -> bool {
        self.0.iter().any(|(name, _)| keys.contains(&name.as_str()))
    }

    pub fn set(&mut self, key: &str, value: String) {
        self.0.retain(|(name, _)| name != key);
        self.0.push((key.to_owned(), value));
    }

    /// Sets what the text leaves open.
    pub fn default(&mut self, key: &str, value: impl FnOnce() -> String) {
        if self.get(key).is_none() {
            self.set(key, value());
        }
    }

    /// Takes `key` out and gives its value.
    pub fn take(&mut self, key: &str) -> Option<String> {
        let value = self.get(key).map(ToOwned::to_owned);
        self.0.retain(|(name, _)| name != key);
        value
    }

    /// `from` is tc's name for `to`.
    pub fn rename(&mut self, from: &str, to: &str) {
        for (name, _) in &mut self.0 {
            if name == from {
                to.clone_into(name);
            }
        }
    }

    /// Gives a bare number its unit.
    pub fn unit(&mut self, key: &str, unit: &str) {
        for (name, value) in &mut self.0 {
            if name == key && value.parse::<f64>().is_ok() {
                value.push_str(unit);
            }
        }
    }

    /// Rewrites every value of `key`.
    pub fn map(&mut self, key: &str, change: impl Fn(&str) -> Option<String>) {
        for (name, value) in &mut self.0 {
            if name == key {
                if let Some(changed) = change(value) {
                    *value = changed;
                }
            }
        }
    }
}
