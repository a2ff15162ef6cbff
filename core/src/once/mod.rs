//! A step of a workflow engine: one message under a key of the caller's, sent at most once, whichever worker runs the step and how often.
//!
//! A store keeps the steps (in Python: `agentjob.once`), as a journal keeps a batch. Here is what doesn't depend on the store: what
//! identifies a step's message, how fast messages may leave, what is stored of an outcome, and what a later call returns. `tests/model/steps.pml` has the protocol.

pub(crate) mod list;
pub(crate) mod pace;
pub(crate) mod resolution;
pub(crate) mod retry;
pub(crate) mod scope;
pub(crate) mod step;

#[cfg(test)]
fn client(base_url: &str, project_id: &str) -> crate::client::Client {
    crate::client::Client::builder().base_url(base_url).project_id(project_id).api_key("adm_marker").build().unwrap()
}
