//! The options of a client: which service, which project, which key, and how to connect. Limits are in `limits.rs`, the event
//! function is in `on_event.rs`. A setter checks what it can check alone; agentjob_client_new() checks the rest: what is missing, files, and plain http.

use std::ffi::c_char;

use agentjob_core::{Client, ClientBuilder, Error};

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle;
use crate::panic::guard_or;
use crate::setter::{Has, set};
use crate::text::text;

/// The options of a client.
///
/// Made by agentjob_options_new(), freed by agentjob_options_free(). agentjob_client_new() copies them, so you may change or free
/// them afterwards. Only one thread may use them at a time. An option that is not set comes from its AGENTJOB_ variable if it has
/// one, and otherwise has its default. A setter refuses a wrong value at once; agentjob_client_new() checks the
/// options together, and reads their files.
/// @since 0.1.0
pub struct agentjob_options {
    pub(crate) builder: ClientBuilder,
}

impl Has<ClientBuilder> for agentjob_options {
    const NAME: &str = "options";

    fn settings(&mut self) -> Result<&mut ClientBuilder, Error> {
        Ok(&mut self.builder)
    }

    fn check(settings: &ClientBuilder) -> Result<(), Error> {
        settings.check()
    }
}

/// Makes options with nothing set.
/// @return yours; free it with agentjob_options_free(). NULL only after a bug in this library.
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_options_new() -> *mut agentjob_options {
    guard_or(std::ptr::null_mut(), || handle::give(agentjob_options { builder: Client::builder() }))
}

/// Frees options. Clients made from them stay valid.
/// @param options the options; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_free(options: *mut agentjob_options) {
    // SAFETY: the header's contract.
    unsafe { handle::free(options) }
}

/// The service's URL: https, or http to this machine only. Required, here or as AGENTJOB_BASE_URL.
/// @param options the options
/// @param base_url the URL, like "https://api.example.com"
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_base_url(
    options: *mut agentjob_options,
    base_url: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.base_url(text("base_url", base_url)?))) }
}

/// The API key. Required, here, with agentjob_options_set_api_key_file(), or as AGENTJOB_API_KEY.
/// @param options the options
/// @param api_key the key as the service shows it. The copy is wiped when the options and all their clients are freed
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_api_key(
    options: *mut agentjob_options,
    api_key: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.api_key(text("api_key", api_key)?))) }
}

/// A file that contains the API key and nothing else; agentjob_client_new() reads it. Also AGENTJOB_API_KEY_FILE. It is
/// read again when it changed, and after a 401, when the request is made once more if the file has another key. It may be a pipe,
/// which is read once, for at most 60 s. A file of this user's that other users can read or write is refused, as OpenSSH does
/// with private keys; see agentjob_options_set_allow_shared_key_file().
/// @param options the options
/// @param path the file's path
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_api_key_file(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.api_key_file(text("path", path)?))) }
}

/// Whether to accept a file with a key that other users can read or write, which container secrets often are. Default false, or
/// AGENTJOB_ALLOW_SHARED_KEY_FILE, which is 1 or 0.
/// @param options the options
/// @param allow_shared_key_file whether to accept it
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_allow_shared_key_file(
    options: *mut agentjob_options,
    allow_shared_key_file: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.allow_shared_key_file(allow_shared_key_file))) }
}

/// The project of the jobs. Required, here or as AGENTJOB_PROJECT_ID.
/// @param options the options
/// @param project_id the project's id
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_project_id(
    options: *mut agentjob_options,
    project_id: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.project_id(text("project_id", project_id)?))) }
}

/// A PEM file of certificate authorities to trust in addition to the platform's; agentjob_client_new() reads it. Also
/// AGENTJOB_CA_FILE.
/// @param options the options
/// @param path the file's path
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_ca_file(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.ca_file(text("path", path)?))) }
}

/// The client certificate for mutual TLS; agentjob_client_new() reads it. Also AGENTJOB_CLIENT_CERT.
/// @param options the options
/// @param path a PEM file with the certificate, followed by those of its authorities, and perhaps by its private key
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_client_cert(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.client_cert(text("path", path)?))) }
}

/// The private key of agentjob_options_set_client_cert(), if that file doesn't have it. Also AGENTJOB_CLIENT_KEY. Other users must
/// not have access to the file, as for agentjob_options_set_api_key_file().
/// @param options the options
/// @param path a PEM file with the key, not encrypted
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_client_key(
    options: *mut agentjob_options,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.client_key(text("path", path)?))) }
}

/// The HTTP proxy to use instead of the environment's.
/// @param options the options
/// @param proxy "http://[user:password@]host:port"
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_proxy(
    options: *mut agentjob_options,
    proxy: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.proxy(text("proxy", proxy)?))) }
}

/// Whether agentjob_client_new() reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. Default true.
/// @param options the options
/// @param trust_env whether to read them
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_trust_env(
    options: *mut agentjob_options,
    trust_env: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.trust_env(trust_env))) }
}

/// Whether to allow plain http to another machine, which exposes the API key to the network. Default false.
/// @param options the options
/// @param allow_plaintext whether to allow it
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_allow_plaintext(
    options: *mut agentjob_options,
    allow_plaintext: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.allow_plaintext(allow_plaintext))) }
}

/// A text to append to "agentjob/<version>" in the User-Agent header. Default none.
/// @param options the options
/// @param suffix visible ASCII and spaces, at most 256 bytes; "" for none
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_user_agent_suffix(
    options: *mut agentjob_options,
    suffix: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.user_agent_suffix(text("suffix", suffix)?))) }
}
