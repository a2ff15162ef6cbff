//! The status of a job.

use std::ffi::{CStr, c_char};

use agentjob_core::JobStatus;

use crate::text::name;

/// The status of a job; see agentjob_job_status().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_status {
    /// A status that this version does not know; agentjob_job_status_name() has it. The job is not done.
    AGENTJOB_STATUS_UNKNOWN = 0,
    /// The job is running.
    AGENTJOB_STATUS_ACTIVE = 1,
    /// The job is finished.
    AGENTJOB_STATUS_COMPLETED = 2,
    /// The job was archived.
    AGENTJOB_STATUS_ARCHIVED = 3,
    /// The job failed.
    AGENTJOB_STATUS_FAILED = 4,
}

/// Each status with the service's name for it.
const STATUSES: [(agentjob_status, &CStr); 5] = {
    use agentjob_status::*;
    [
        (AGENTJOB_STATUS_UNKNOWN, c"unknown"),
        (AGENTJOB_STATUS_ACTIVE, c"active"),
        (AGENTJOB_STATUS_COMPLETED, c"completed"),
        (AGENTJOB_STATUS_ARCHIVED, c"archived"),
        (AGENTJOB_STATUS_FAILED, c"failed"),
    ]
};

impl From<&JobStatus> for agentjob_status {
    fn from(status: &JobStatus) -> agentjob_status {
        let row = STATUSES.iter().find(|row| row.1.to_bytes() == status.as_str().as_bytes());
        row.map_or(agentjob_status::AGENTJOB_STATUS_UNKNOWN, |row| row.0)
    }
}

/// A status's name, as the service spells it: "active", "completed", "archived", "failed"; "unknown" for
/// AGENTJOB_STATUS_UNKNOWN.
/// @param status any number
/// @return a static text; "?" for a number that is not a status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_status_name(status: i32) -> *const c_char {
    name(|| STATUSES.iter().find(|row| row.0 as i32 == status).map(|row| row.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(status: i32) -> &'static str {
        // SAFETY: every name is a C literal.
        unsafe { CStr::from_ptr(agentjob_status_name(status)) }.to_str().unwrap()
    }

    #[test]
    fn every_status_has_the_services_name() {
        for status in [JobStatus::Active, JobStatus::Completed, JobStatus::Archived, JobStatus::Failed] {
            let number = agentjob_status::from(&status) as i32;
            assert_ne!(number, 0, "{status:?}");
            assert_eq!(name_of(number), status.as_str());
        }
        assert_eq!(agentjob_status::from(&JobStatus::Other("paused".into())) as i32, 0);
        assert_eq!(name_of(0), "unknown");
    }

    #[test]
    fn any_other_number_can_be_printed() {
        for number in [-1, 5, i32::MIN, i32::MAX] {
            assert_eq!(name_of(number), "?");
        }
    }
}
