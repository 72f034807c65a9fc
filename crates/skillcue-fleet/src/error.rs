//! Why a catalog cannot be read or published, one line each.

use skillcue_base::ErrorInfo;

/// Why a catalog cannot be read or published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum FleetError {
    /// The address means no store.
    #[error("{url:?} is no address of a catalog: {why}")]
    #[info(code = "usage", hint = "write s3://BUCKET/PATH, gs://, az://, https:// or file:///PATH")]
    Address {
        /// The address, without a password.
        url: String,
        /// The fault.
        why: String,
    },
    /// A limit for bytes a second cannot be read.
    #[error("{text:?} is no bandwidth: {why}")]
    #[info(code = "usage", hint = "write `bandwidth = \"5MB\"` below [[catalog]], or --bandwidth 5MB")]
    Bandwidth {
        /// The text.
        text: String,
        /// The fault, with the right form.
        why: String,
    },
    /// The store cannot be asked.
    #[error("the store cannot be asked for {what}: {why}")]
    #[info(
        code = "unreachable",
        hint = "look at the address, the credentials and the network; the last good generation stays in use"
    )]
    Unreachable {
        /// The object.
        what: String,
        /// The cause.
        why: String,
    },
    /// The store took too long.
    #[error("the store did not send {what} within {seconds} s")]
    #[info(code = "unreachable", hint = "try again later; the last good generation stays in use")]
    Slow {
        /// The object.
        what: String,
        /// The limit.
        seconds: u64,
    },
    /// The store took too long over what it was sent.
    #[error("the store did not take {what} within {seconds} s")]
    #[info(
        code = "unreachable",
        hint = "publish again, over a faster line or with --bandwidth; nothing is half published"
    )]
    SlowUpload {
        /// The object.
        what: String,
        /// The limit.
        seconds: u64,
    },
    /// A file of a skill cannot be read as the catalog has it.
    #[error("{uri}: {why}")]
    #[info(
        transparent = why,
        hint = "publish the skill from where it is whole, with --again: its files are written anew"
    )]
    SkillFile {
        /// The file.
        uri: String,
        /// The cause, which names the blob.
        why: Box<FleetError>,
    },
    /// A document that a collection keeps cannot be read, so that it is not known which blobs must stay.
    #[error(
        "generation {generation} is kept, and which blobs it needs cannot be read, so nothing was deleted: {path}: {why}"
    )]
    #[info(
        code = "damaged",
        hint = "delete {path} from the store, then collect again; with a lower --keep it may also go, unless it is young"
    )]
    DamagedGeneration {
        /// The number of the generation.
        generation: u64,
        /// Its document.
        path: String,
        /// The cause.
        why: String,
    },
    /// There is no such object.
    #[error("the store has no {0}")]
    #[info(code = "not_found", hint = hint_of_missing(_0))]
    Missing(String),
    /// An object is larger than it may be.
    #[error("{what} is larger than {max} bytes")]
    #[info(code = "unverified", hint = "the store or its publisher is broken; the last good generation stays in use")]
    TooLarge {
        /// The object.
        what: String,
        /// The limit.
        max: u64,
    },
    /// An object is not what its digest says.
    #[error("{what} is not what the catalog says: {why}")]
    #[info(code = "unverified", hint = "the store is broken or lies; tell its operator")]
    Altered {
        /// The object.
        what: String,
        /// The difference.
        why: String,
    },
    /// An object cannot be read.
    #[error("{what} cannot be read: {why}")]
    #[info(code = "unverified", hint = "the publisher is broken, or newer than this program")]
    Invalid {
        /// The object.
        what: String,
        /// The cause.
        why: String,
    },
    /// The head has no signature.
    #[error("the catalog is not signed, and keys are configured for it")]
    #[info(code = "unsigned", hint = "its publisher signs it (catalog sign URL --key FILE --generation N-DIGEST)")]
    Unsigned,
    /// None of the trusted keys has signed the head.
    #[error("none of the {trusted} trusted keys has signed the catalog; it is signed by {by}")]
    #[info(code = "wrong_key", hint = "if that is a publisher's new key, add it to `keys` in skillcue.toml")]
    WrongKey {
        /// How many keys are trusted.
        trusted: usize,
        /// The keys that it says it is signed with.
        by: String,
    },
    /// A signature of a trusted key does not fit.
    #[error("the signature of {0} does not fit the catalog")]
    #[info(code = "bad_signature", hint = "the head was altered; tell the operator of the store")]
    BadSignature(String),
    /// An older generation than the last one seen.
    #[error("the store offers generation {offered}, and {seen} was seen before: it was rolled back")]
    #[info(
        code = "rolled_back",
        hint = "the last good generation stays in use; after a restored or new store, its publisher goes on with --sequence-above {seen}"
    )]
    RolledBack {
        /// The sequence number that is offered.
        offered: u64,
        /// The highest one that was seen.
        seen: u64,
    },
    /// An older generation than the publisher may build upon.
    #[error(
        "the store offers generation {offered}, and generation {known} or a newer one was expected: it was rolled back"
    )]
    #[info(
        code = "rolled_back",
        hint = hint_of_old_base(*known, memory.as_deref())
    )]
    OldBase {
        /// The sequence number that is offered; 0 if there is no catalog.
        offered: u64,
        /// The lowest one that is accepted.
        known: u64,
        /// The file that remembers it, if one does.
        memory: Option<String>,
    },
    /// The store has documents of generations that no publisher can have written after the current one.
    #[error(
        "the store has a document of generation {newest}, and its head names generation {offered}: it was rolled back"
    )]
    #[info(
        code = "rolled_back",
        hint = "put the newest head back; after a new start on purpose, delete the documents of higher numbers below `catalog` from the store, then collect again"
    )]
    NewerDocuments {
        /// The number that the head names.
        offered: u64,
        /// The highest number among the documents.
        newest: u64,
    },
    /// The file that remembers which generation was seen cannot be used.
    #[error("{path} cannot be used: {why}; without it, a rollback of the catalog would not be noticed")]
    #[info(
        code = "memory",
        hint = "make the file readable and writable for you; or delete it, if you trust what the store has now"
    )]
    Memory {
        /// The file.
        path: String,
        /// The cause.
        why: String,
    },
    /// Another generation than the one that was named.
    #[error("the store offers generation {offered}, not {named}")]
    #[info(code = "wrong_generation", hint = "look at it first: `catalog verify URL --deep` checks it and names it")]
    OtherGeneration {
        /// The number and the digest that are offered.
        offered: String,
        /// Those that were named.
        named: String,
    },
    /// A text names no generation.
    #[error("{0:?} is no generation")]
    #[info(code = "usage", hint = "write NUMBER-DIGEST with all 64 digits, as `catalog verify URL` prints it")]
    Generation(String),
    /// Another collection is under way.
    #[error("another collection is under way, until {0} at the latest")]
    #[info(code = "conflict", hint = "try again when it has ended")]
    Collecting(String),
    /// The lease of this collection has gone to another one.
    #[error("the collection has lost its lease to another process, and has stopped")]
    #[info(code = "conflict", hint = "try again later; what is left goes with the next collection")]
    LeaseLost,
    /// Two generations with one number.
    #[error("the store offers another generation {0} than the one seen before")]
    #[info(
        code = "forked",
        hint = "one of the two is forged, or the store lost a write: tell its operator; after a restored or new store, its publisher goes on with --sequence-above {_0}"
    )]
    Forked(u64),
    /// The head has expired.
    #[error("the catalog expired on {0}: the store is frozen, or its publishers have stopped")]
    #[info(
        code = "expired",
        hint = "its publisher looks at it and renews it (catalog sign URL --key FILE --renew --generation N-DIGEST)"
    )]
    Expired(String),
    /// The catalog has another name.
    #[error("the catalog there is called {there:?}, not {here:?}")]
    #[info(code = "wrong_catalog", hint = "its name is part of what is signed: use the same one in skillcue.toml")]
    WrongName {
        /// Its name.
        there: String,
        /// The configured one.
        here: String,
    },
    /// Other publishers were faster too often.
    #[error("other publishers were faster {0} times")]
    #[info(code = "conflict", hint = "publish again when fewer publish at once")]
    Contended(usize),
    /// Publishing unsigned over a signed catalog.
    #[error("the catalog is signed, and no key was given")]
    #[info(code = "unsigned", hint = "give --key FILE; readers with keys would refuse an unsigned generation")]
    NoKey,
    /// A skill of that name is published elsewhere in the catalog.
    #[error("{name} is in the catalog already, as {uri}")]
    #[info(code = "taken", hint = "rename the skill, or publish it as its owner does")]
    Taken {
        /// The skill.
        name: String,
        /// Its URI there.
        uri: String,
    },
    /// The policy cannot be published or used.
    #[error("the policy {0}")]
    #[info(code = "policy", hint = "docs/reference/policy.md has its keys; a policy is published with --key FILE")]
    Policy(String),
    /// Nothing to publish.
    #[error("{0}")]
    #[info(code = "nothing", hint = "name a directory with skills that conform to the format; lint says more")]
    Nothing(String),
    /// A catalog would have more skills than readers take.
    #[error("a catalog has at most {0} skills")]
    #[info(code = "too_large", hint = "publish some of them to a catalog at another address")]
    TooManySkills(usize),
    /// A name that no catalog can have.
    #[error("{0:?} is no name of a catalog")]
    #[info(code = "usage", hint = "give one of up to 64 of a-z, 0-9, - and _: --name, or `name` below [[catalog]]")]
    Name(String),
    /// A grace period in which a publish or a reader may need what is deleted.
    #[error("the grace period must be {minutes} minutes at least: a publish may take as long")]
    #[info(code = "usage", hint = "give --grace-days 1 or more; or --alone, if no other process uses the store")]
    Grace {
        /// The shortest one.
        minutes: u64,
    },
    /// A key cannot be used.
    #[error("the key {0}")]
    #[info(code = "key", hint = "catalog keygen makes one")]
    Key(String),
    /// A file of this machine cannot be read or written.
    #[error("{path}: {why}")]
    #[info(code = "unwritable", hint = "make it readable and writable for you")]
    File {
        /// The file.
        path: String,
        /// The cause.
        why: String,
    },
    /// The store cannot do what publishing needs.
    #[error("the store cannot {0}")]
    #[info(code = "unsupported", hint = "publish to a store with conditional writes: S3, GCS, Azure or file://")]
    Unsupported(String),
    /// This process cannot start threads.
    #[error("no thread can be started: {0}")]
    #[info(code = "runtime", hint = "end other programs")]
    Threads(String),
}

impl FleetError {
    /// Returns whether the store or its publisher is to blame, not the way to it: what was sent was refused.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            FleetError::Address { .. }
                | FleetError::Bandwidth { .. }
                | FleetError::Generation(_)
                | FleetError::Name(_)
                | FleetError::Grace { .. }
                | FleetError::Unreachable { .. }
                | FleetError::Slow { .. }
                | FleetError::SlowUpload { .. }
                | FleetError::Memory { .. }
                | FleetError::Missing(_)
                | FleetError::File { .. }
                | FleetError::Threads(_)
        )
    }
}

/// Returns the hint about a head that is older than a holder of a key has seen.
fn hint_of_old_base(known: u64, memory: Option<&str>) -> String {
    let begin = "put the newest head back; after a restored or new store,";
    match memory {
        Some(file) => format!("{begin} publish with --sequence-above {known}, or delete {file}"),
        None => format!("{begin} give a lower --at-least"),
    }
}

/// Returns the hint about an object that is missing.
fn hint_of_missing(path: &str) -> &'static str {
    if path.starts_with("blobs/") {
        return "pull again; if it is missing then, too, the store has lost it: docs/fleet.md says how it comes back";
    }
    "look at the address; publishing skills makes a catalog"
}
