//! A server for the skills of a [`Skillfold`](skillfold::Skillfold).
