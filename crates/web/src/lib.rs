//! The simulator for a page in a browser.
//!
//! A page writes a request into [`sojourn_input`], calls [`sojourn_call`] and reads the answer at [`sojourn_output`]. Both are
//! texts in UTF-8. The answer begins with `+` and goes on with JSON, or it begins with `-` and says what is wrong.
//! [`session::Request`] lists the requests.

pub mod queue;
pub mod session;
#[cfg(test)]
mod tests;

use session::Session;
use std::cell::RefCell;

#[derive(Default)]
struct Instance {
    session: Session,
    input: Vec<u8>,
    output: String,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

/// Makes room for a request of `length` bytes, and returns where it is to be written.
#[allow(unsafe_code)] // The name must be as it is for the page; no other function of the module has it.
#[no_mangle]
pub extern "C" fn sojourn_input(length: usize) -> *mut u8 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.input.clear();
        instance.input.resize(length, 0);
        instance.input.as_mut_ptr()
    })
}

/// Answers the request, and returns the number of bytes of the answer.
#[allow(unsafe_code)] // As above.
#[no_mangle]
pub extern "C" fn sojourn_call() -> usize {
    INSTANCE.with_borrow_mut(|instance| {
        let request = String::from_utf8_lossy(&instance.input);
        instance.output = match instance.session.answer(&request) {
            Ok(answer) => format!("+{answer}"),
            Err(why) => format!("-{why}"),
        };
        instance.output.len()
    })
}

/// Where the answer is, until the next call.
#[allow(unsafe_code)] // As above.
#[no_mangle]
pub extern "C" fn sojourn_output() -> *const u8 {
    INSTANCE.with_borrow(|instance| instance.output.as_ptr())
}
