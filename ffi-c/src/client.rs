//! The client: made, queried, closed, freed. The calls that it makes are in `client_calls.rs`.

use std::ffi::c_char;

use agentjob_core::Client;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{self, place, read, required};
use crate::options::agentjob_options;
use crate::result::{Delivers, guard};
use crate::text::{NO_TEXT, Text, text};
use crate::thread_cancel;

/// A client of one project of one service. It keeps connections open for the next call.
///
/// Made by agentjob_client_new(), freed by agentjob_client_free(). Any number of threads may use it at once. Before the first call
/// it has no thread and no connection.
/// @since 0.1.0
pub struct agentjob_client {
    pub(crate) client: Client,
    base_url: Text,
    project_id: Text,
}

/// Makes a client. It checks every option and sends nothing.
/// @param options the options; NULL takes all of them from the AGENTJOB_ variables
/// @param out gets the client; free it with agentjob_client_free()
/// @param err gets the error, whose message names the first option that is missing or wrong; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_new(
    options: *const agentjob_options,
    out: *mut *mut agentjob_client,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let out = place("out", out)?;
            let builder = options.as_ref().map_or_else(Client::builder, |options| options.builder.clone());
            let client = builder.build()?;
            let (base_url, project_id) = (Text::new(client.base_url()), Text::new(client.project_id()));
            out.write(handle::give(agentjob_client { client, base_url, project_id }));
            Ok(())
        })
    }
}

/// Replaces the API key, for a key that rotates: every request that begins afterwards sends this one, on every thread and in the
/// batches of the client, and the file of agentjob_options_set_api_key_file() is no longer read. A request that began with the former
/// key and is refused (401) is made once more with this one. The former keys are still removed from every error, event and log line,
/// the last eight of them. Any thread may call it.
///
/// It is a setter and no callback, because a program knows when its key changed, and the library has no thread of its own that could
/// ask.
/// @param client the client
/// @param api_key the key as the service shows it. The copy is wiped when it is not needed any more
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_set_api_key(
    client: *const agentjob_client,
    api_key: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || required("client", client)?.client.set_api_key(text("api_key", api_key)?))
    }
}

/// Ends every call of this client, on every thread, with AGENTJOB_ERR_CLOSED, and refuses new ones. It does not wait for them.
/// Any thread may call it, more than once.
///
/// A batch of the client sends nothing more and ends with AGENTJOB_ERR_CLOSED. It first waits, for at most its grace period, for
/// the responses to its messages in flight: agentjob_batch_next() returns their outcomes, or agentjob_batch_free() waits.
/// @param client the client; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_close(client: *const agentjob_client) {
    // SAFETY: the header's contract.
    unsafe {
        read(client, (), |client| {
            let _held = thread_cancel::hold();
            client.client.close();
        })
    }
}

/// Whether agentjob_client_close() was called.
/// @param client the client
/// @return true if it was; false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_is_closed(client: *const agentjob_client) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(client, false, |client| client.client.is_closed()) }
}

/// The service's URL, without a slash at its end.
/// @param client the client
/// @return borrowed from the client; NULL only for a NULL client
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_base_url(client: *const agentjob_client) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(client, NO_TEXT, |client| client.base_url.as_ptr()) }
}

/// The id of the jobs' project.
/// @param client the client
/// @return borrowed from the client; NULL only for a NULL client
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_project_id(client: *const agentjob_client) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(client, NO_TEXT, |client| client.project_id.as_ptr()) }
}

/// Frees a client. It does not wait, so no call may still be using it: agentjob_client_close() makes running calls return; join
/// their threads before you free the client.
/// @param client the client; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_free(client: *mut agentjob_client) {
    // SAFETY: the header's contract.
    unsafe { handle::free(client) }
}
