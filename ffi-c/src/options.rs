//! A client's settings, gathered: where the service is, who asks, and how to get there. Its numbers are in `limits.rs`, its
//! event function in `event.rs`. What can be checked alone is checked here, the rest when the client is made.

use std::ffi::c_char;

use agentjob_core::{Client, ClientBuilder, Error};

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard, guard_or};
use crate::pointer::{self, required_mut};
use crate::text::text;

/// A client's settings.
///
/// Made by agentjob_options_new(), freed by agentjob_options_free(). agentjob_client_new() copies them, so they may be changed
/// or freed afterwards. To be used by one thread at a time. What is not set comes from its AGENTJOB_ variable where there is
/// one, or is the default; every setting is checked again, and in full, by agentjob_client_new().
/// @since 0.1.0
pub struct agentjob_options {
    pub(crate) builder: ClientBuilder,
}

/// Changes one setting. The builder's methods take it whole, so it is taken out and put back.
///
/// # Safety
/// `options` is NULL or living options that nobody else uses meanwhile; `err` is NULL or a place for one pointer.
pub(crate) unsafe fn set(
    options: *mut agentjob_options,
    change: impl FnOnce(ClientBuilder) -> Result<ClientBuilder, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise is the same.
    let options = unsafe { required_mut("options", options) }?;
    // Changed in a copy: a refused setting leaves the options as they were.
    let changed = change(options.builder.clone())?;
    let former = std::mem::replace(&mut options.builder, changed);
    // Only now, with no hold on the options any more: it may call the `destroy` of an event function.
    drop(former);
    Ok(())
}

/// Makes settings of which none is set.
/// @return yours; free it with agentjob_options_free(). NULL only after a bug of this library.
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_options_new() -> *mut agentjob_options {
    guard_or(std::ptr::null_mut(), || pointer::give(agentjob_options { builder: Client::builder() }))
}

/// Frees settings. Clients made from them go on.
/// @param options the settings, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_free(options: *mut agentjob_options) {
    guard_or((), || {
        // SAFETY: NULL or options that are used no more by the header's rules.
        unsafe { pointer::free(options) }
    });
}

/// Where the service is: https, or http to this machine only. Required; also AGENTJOB_BASE_URL.
/// @param options the settings
/// @param base_url "https://api.example.com", copied
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_base_url(
    options: *mut agentjob_options,
    base_url: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.base_url(text("base_url", base_url)?)))) }
}

/// The API key. Required, here or with agentjob_options_set_api_key_file(); also AGENTJOB_API_KEY.
/// @param options the settings
/// @param api_key the key as the service shows it; copied, and wiped when the last user lets go
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_api_key(
    options: *mut agentjob_options,
    api_key: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.api_key(text("api_key", api_key)?)))) }
}

/// A file that holds the API key alone, read by agentjob_client_new(); also AGENTJOB_API_KEY_FILE. It may be a pipe, which is
/// waited for 60 s at most. A file of this user's that others may read or write is refused, like OpenSSH's private keys; see
/// agentjob_options_set_allow_shared_key_file().
/// @param options the settings
/// @param path the file's path, copied
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_api_key_file(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.api_key_file(text("path", path)?)))) }
}

/// Whether the key's file may be one that other users can read or write, as the secrets of containers are. Not by default; also
/// AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0.
/// @param options the settings
/// @param allow_shared_key_file whether it may
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_allow_shared_key_file(
    options: *mut agentjob_options,
    allow_shared_key_file: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.allow_shared_key_file(allow_shared_key_file)))) }
}

/// The project that the jobs belong to. Required; also AGENTJOB_PROJECT_ID.
/// @param options the settings
/// @param project_id the project, copied
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_project_id(
    options: *mut agentjob_options,
    project_id: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.project_id(text("project_id", project_id)?)))) }
}

/// A PEM file of authorities to trust besides the platform's, read by agentjob_client_new(); also AGENTJOB_CA_FILE.
/// @param options the settings
/// @param path the file's path, copied
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_ca_file(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.ca_file(text("path", path)?)))) }
}

/// The HTTP proxy to go through instead of the environment's.
/// @param options the settings
/// @param proxy "http://[user:password@]host:port", copied
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_proxy(
    options: *mut agentjob_options,
    proxy: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.proxy(text("proxy", proxy)?)))) }
}

/// Whether HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count, as agentjob_client_new() finds them. Default true.
/// @param options the settings
/// @param trust_env whether they count
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_trust_env(
    options: *mut agentjob_options,
    trust_env: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.trust_env(trust_env)))) }
}

/// Whether plain http may go to another machine, which shows the key to the network. Default false.
/// @param options the settings
/// @param allow_plaintext whether it may
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_allow_plaintext(
    options: *mut agentjob_options,
    allow_plaintext: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.allow_plaintext(allow_plaintext)))) }
}

/// What to put behind "agentjob/<version>" in the User-Agent header.
/// @param options the settings
/// @param suffix visible ASCII and spaces, at most 256 bytes, copied; "" for nothing
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_user_agent_suffix(
    options: *mut agentjob_options,
    suffix: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.user_agent_suffix(text("suffix", suffix)?)))) }
}
