//! Consent: what a person has allowed projects, remote skills, scripts and toolsets, for exactly the content they
//! looked at. A [`ConsentStore`] remembers it in a file; implement [`ConsentGate`] to decide by other rules.

pub use skillcue_catalog::consent::{
    Answer, BROKEN_FILE_HINT, Consent, ConsentError, ConsentGate, ConsentStore, ContentId, Details, Observed,
    PermissionRules, Question, ResolvedPermissions, Scope, Subject, may_show,
};
