//! Shared libraries, and tables that are in memory already.
#![allow(unsafe_code)]

use crate::abi::Table;
use crate::definition::Definition;
use crate::params::Params;
use crate::Plugged;
use sojourn_aqm::registry;
use std::path::Path;
#[cfg(unix)]
use std::{
    ffi::{CStr, CString},
    os::unix::ffi::OsStrExt,
};

#[cfg(unix)]
const SYMBOL: &CStr = c"sojourn_aqm_plugin";

/// Loads a shared library with `sojourn_aqm_plugin` for the rest of the process and adds its algorithm; returns its name.
/// `version` names this library, so that another one of the same name is another scheme: a hash of its bytes.
///
/// # Errors
/// It cannot be loaded, lacks the symbol, has another version of the interface, or a table that the header does not allow.
///
#[cfg(unix)]
pub fn add_library(path: &Path, version: &str) -> Result<&'static str, String> {
    let place = path.display();
    let file = CString::new(path.as_os_str().as_bytes()).map_err(|_| format!("{place}: the path has a NUL"))?;
    // SAFETY: a path that ends in NUL. Loading runs the library's constructors, which the user asks for by naming it.
    let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(format!("{place}: {}", error()));
    }
    // SAFETY: a library that is loaded, and stays so; and a name that ends in NUL.
    let symbol = unsafe { libc::dlsym(library, SYMBOL.as_ptr()) };
    if symbol.is_null() {
        let what = SYMBOL.to_string_lossy();
        return Err(format!("{place} does not define {what}(), which a library for Sojourn has to (sojourn_aqm.h)"));
    }
    // SAFETY: the header declares this symbol as a function of this type.
    let table = unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> *const Table>(symbol) };
    // SAFETY: what that function returned.
    unsafe { add_table(table(), version) }.map_err(|why| format!("{place}: {why}"))
}

/// Refuses: libraries are loaded on Linux and macOS only.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn add_library(path: &Path, _version: &str) -> Result<&'static str, String> {
    let place = path.display();
    Err(format!("{place}: libraries need Linux or macOS; here an algorithm may be a Python file"))
}

/// Adds the algorithm of a table, as [`add_library`] does.
///
/// # Safety
/// `table` is NULL or a table as `sojourn_aqm.h` describes it, and all of it stays for the rest of the process.
///
/// # Errors
/// As [`add_library`].
pub unsafe fn add_table(table: *const Table, version: &str) -> Result<&'static str, String> {
    // SAFETY: promised by the caller.
    let definition = unsafe { Definition::read(table) }?;
    // Schemes of it may exist until the process ends.
    let definition: &'static Definition = Box::leak(Box::new(definition));
    registry::add::<Plugged>(definition.name, version, definition.about, Params::of(definition))?;
    Ok(definition.name)
}

/// What the loader said last.
#[cfg(unix)]
fn error() -> String {
    // SAFETY: the text is valid until the next call of the loader in this thread, and copied before.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "cannot be loaded".to_owned();
    }
    // SAFETY: not NULL, and ends in NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
