//! Pollers and batches in a program's own event loop: descriptors that it can poll, and steps that do not block.

use agentjob_core::{BackgroundPoll, Error};

use crate::batch::lifecycle::agentjob_batch;
use crate::call::{AGENTJOB_FOREVER, agentjob_call, call_options};
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{place, read, required, required_mut};
use crate::milliseconds::milliseconds;
use crate::poller::agentjob_poller;
use crate::result::{Delivers, guard};

/// The descriptor of a poller, for poll(2), epoll, libuv, GLib and the like. It becomes readable when a poll that
/// agentjob_poller_start() began has ended, and stays so until agentjob_poller_finish(). It is the same for the poller's whole life.
/// Wait for it, but do not read, write or close it. A child of fork() must not use it. On Windows it is a SOCKET.
/// @param poller the poller
/// @param out gets the descriptor
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_CONNECT if no descriptor is free
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_fd(
    poller: *mut agentjob_poller,
    out: *mut i32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let poller = required_mut("poller", poller)?;
            let out = place("out", out)?;
            out.write(number(background(poller)?.descriptor()));
            Ok(())
        })
    }
}

/// Begins a poll, now, and returns at once: agentjob_poller_poll() without blocking. When the poll has ended, the descriptor of
/// agentjob_poller_fd() becomes readable; then call agentjob_poller_finish(). Call this when agentjob_poller_due_in_ms() is 0.
///
/// The request runs on a thread of the library that ends with it, and so do its event function and the check of its cancel token.
/// Until agentjob_poller_finish() you may only read the poller or free it. Freeing it ends the poll and waits for its thread, for at
/// most 100 ms; agentjob_client_close() and the cancel token of `call` end it, too, with an error.
/// @param poller the poller
/// @param client a client of the job's project; you may free it before the poll has ended
/// @param call settings of this poll (timeout and cancel token), or NULL. They are copied
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, also if a poll is in progress, or AGENTJOB_ERR_CONNECT if no descriptor is free
/// or no thread can be started
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_start(
    poller: *mut agentjob_poller,
    client: *const agentjob_client,
    call: *const agentjob_call,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let poller = required_mut("poller", poller)?;
            let client = &required("client", client)?.client;
            let state = poller.poller.clone();
            background(poller)?.begin(&state, client, &call_options(call))
        })
    }
}

/// Takes the result of the poll that agentjob_poller_start() began, as agentjob_poller_poll() returns it. If the poll has not ended yet,
/// this waits for it. Records and texts that were borrowed from the poller become invalid.
/// @param poller the poller
/// @param done gets whether the job is done; if so, agentjob_poller_job() is its last record
/// @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
/// the previous result; may be NULL
/// @return as agentjob_poller_poll(); AGENTJOB_ERR_INVALID_ARGUMENT also if no poll is in progress, or if it is the parent's and this
/// process is its child
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_finish(
    poller: *mut agentjob_poller,
    done: *mut bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let handle = required_mut("poller", poller)?;
            let done = place("done", done)?;
            background(handle)?;
            let Some(background) = handle.background.as_mut() else { return Ok(()) };
            let result = background.finish(&mut handle.poller);
            handle.update();
            done.write(result?.is_some());
            Ok(())
        })
    }
}

#[cfg(unix)]
fn number(descriptor: std::os::fd::BorrowedFd<'_>) -> i32 {
    std::os::fd::AsRawFd::as_raw_fd(&descriptor)
}

/// A SOCKET: Windows uses the lower 32 bits of a handle.
#[cfg(windows)]
fn number(descriptor: std::os::windows::io::BorrowedSocket<'_>) -> i32 {
    std::os::windows::io::AsRawSocket::as_raw_socket(&descriptor) as i32
}

fn background(poller: &mut agentjob_poller) -> Result<&mut BackgroundPoll, Error> {
    if poller.background.is_none() {
        poller.background = Some(BackgroundPoll::new()?);
    }
    poller.background.as_mut().ok_or_else(|| Error::invalid_argument("no poll is in progress"))
}

/// The descriptor of a batch, for poll(2), epoll, libuv, GLib and the like. It is readable while agentjob_batch_next() may have
/// something. Then call agentjob_batch_next() with a timeout of 0 until it returns no event or the batch is over; do so, too, after
/// agentjob_batch_due_in_ms(), and after you triggered its cancel token or closed its client. It lives as long as the batch. Wait for it,
/// but do not read, write or close it. On Windows it is a SOCKET.
/// @param batch a batch that was started
/// @param out gets the descriptor
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, also in a child of fork(), or AGENTJOB_ERR_CONNECT if no descriptor is free
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_fd(
    batch: *const agentjob_batch,
    out: *mut i32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let batch = required("batch", batch)?.running()?;
            place("out", out)?.write(number(batch.descriptor()?));
            Ok(())
        })
    }
}

/// How long until agentjob_batch_next() must be called even if the descriptor of agentjob_batch_fd() is not readable: a batch that is
/// stopping ends its messages in flight when their grace period is over, and waits for its threads for 1 s after that. Ask again after
/// each agentjob_batch_next().
/// @param batch the batch
/// @return milliseconds; AGENTJOB_FOREVER if nothing is due, for a batch that is not running, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_due_in_ms(batch: *const agentjob_batch) -> u64 {
    // SAFETY: the header's contract.
    unsafe {
        read(batch, AGENTJOB_FOREVER, |batch| {
            let due = batch.running().ok().and_then(|batch| batch.due_in());
            due.map_or(AGENTJOB_FOREVER, milliseconds)
        })
    }
}
