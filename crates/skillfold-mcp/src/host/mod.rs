//! Skills of remote servers: listed, approved, fetched when needed, verified on every read.
