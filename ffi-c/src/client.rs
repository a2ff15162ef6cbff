//! The client's handle: made, looked at, closed, freed. What it does is in `work.rs`.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::Client;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard, guard_or};
use crate::options::agentjob_options;
use crate::pointer::{self, place};
use crate::text::{Text, borrow};

/// A client of one project of one service. It keeps connections for the next call.
///
/// Made by agentjob_client_new(), freed by agentjob_client_free(). It never changes, and any number of threads may use it at
/// once. No thread runs and no connection is made before the first call.
/// @since 0.1.0
pub struct agentjob_client {
    pub(crate) client: Client,
    base_url: Text,
    project_id: Text,
}

/// Makes a client. Every setting is checked; nothing is sent.
/// @param options the settings, copied; NULL to take all of them from the AGENTJOB_ variables
/// @param out where the client goes; free it with agentjob_client_free()
/// @param err where an error goes, or NULL; its message names the first setting that is missing or wrong
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_new(
    options: *const agentjob_options,
    out: *mut *mut agentjob_client,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let out = place("out", out)?;
            let builder = options.as_ref().map_or_else(Client::builder, |options| options.builder.clone());
            let client = builder.build()?;
            let (base_url, project_id) = (Text::new(client.base_url()), Text::new(client.project_id()));
            out.write(pointer::give(agentjob_client { client, base_url, project_id }));
            Ok(())
        })
    }
}

/// Ends every call of this client, in every thread, with AGENTJOB_ERR_CLOSED, and refuses new ones. It does not wait for
/// them. From any thread; again is no harm.
///
/// A batch of the client sends nothing more and ends with AGENTJOB_ERR_CLOSED, but the answers to its messages in flight are awaited,
/// for at most its grace: by agentjob_batch_next(), which has their outcomes first, or by agentjob_batch_free().
/// @param client the client; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_close(client: *const agentjob_client) {
    guard_or((), || {
        // SAFETY: NULL or a living client by the header's rules.
        if let Some(client) = unsafe { client.as_ref() } {
            client.client.close();
        }
    });
}

/// Whether agentjob_client_close() was called.
/// @param client the client
/// @return false also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_is_closed(client: *const agentjob_client) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living client by the header's rules.
        unsafe { client.as_ref() }.is_some_and(|client| client.client.is_closed())
    })
}

/// Where the service is, without a slash at its end.
/// @param client the client
/// @return borrowed from the client; NULL only for a NULL client
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_base_url(client: *const agentjob_client) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living client by the header's rules.
        borrow(unsafe { client.as_ref() }.map(|client| &client.base_url))
    })
}

/// The project that the jobs belong to.
/// @param client the client
/// @return borrowed from the client; NULL only for a NULL client
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_project_id(client: *const agentjob_client) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living client by the header's rules.
        borrow(unsafe { client.as_ref() }.map(|client| &client.project_id))
    })
}

/// Frees a client. It does not wait: no call may be using it any more. agentjob_client_close() makes them return; join the
/// threads that made them first.
/// @param client the client, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_free(client: *mut agentjob_client) {
    guard_or((), || {
        // SAFETY: NULL or a client that is used no more by the header's rules.
        unsafe { pointer::free(client) }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_header_lets_threads_share_can_be_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<agentjob_client>();
        shared::<crate::cancel::agentjob_cancel>();
        shared::<crate::job::agentjob_job>();
        shared::<agentjob_error>();
        shared::<crate::call::agentjob_call>();
        shared::<crate::batch_event::agentjob_batch_event>();
        shared::<crate::batch_status::agentjob_batch_status>();
        // For one thread at a time, but not bound to one.
        fn sent<T: Send>() {}
        sent::<crate::batch::agentjob_batch>();
    }
}
