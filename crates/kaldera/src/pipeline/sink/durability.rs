//! Files that appear complete or not at all, and that a later run resumes.

pub(super) mod names;
pub(super) mod partial;
pub(super) mod record;
pub(super) mod run_id;
