//! The tests of the Rust API: one program, because forty take minutes to compile and link. A test here shares its process with
//! all the others, and several of them run at a time. So one that changes what belongs to the process (its limits, its user, its
//! environment, its working directory) does so in a child: this program again, with the name of one test.
//!
//! Programs of their own are `long_records.rs` and `response_limits.rs`, which measure the memory of the whole process,
//! `out_of_descriptors.rs`, which leaves it no file descriptor, and `secrets_in_output.rs`, whose logger is the process's only one.

#[path = "../support/batches.rs"]
mod batches;
#[path = "../support/quoting.rs"]
mod quoting;
#[path = "../support/mod.rs"]
mod support;

mod background_poll;
mod batch;
mod batch_events;
mod batch_owner_waits;
mod batch_pace;
mod batch_results;
mod batch_sequence;
mod batch_waits;
mod cancellation;
mod changed_lists;
mod decisions;
mod events;
mod formats;
#[cfg(unix)]
mod full_disk;
mod grace;
mod headers;
mod interrupted_decisions;
mod job_lifecycle;
mod journal;
mod journal_contents;
mod journal_damage;
#[cfg(unix)]
mod key_files;
mod key_redaction;
mod key_rotation;
mod meta;
mod mutual_tls;
#[cfg(target_os = "linux")]
mod name_lookups;
mod network;
mod options;
#[cfg(target_os = "linux")]
mod out_of_threads;
mod previous_result;
mod quoted_prompts;
mod responses;
mod stopped_process;
mod stray_responses;
#[cfg(target_os = "linux")]
mod system_calls;
mod tls_failures;
mod trusted_roots;
