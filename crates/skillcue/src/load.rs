//! Level 2: the loader of bodies and its cache, their forms and outlines. [`LoadRequest`](crate::LoadRequest) asks for
//! one, [`Loaded`](crate::Loaded) is the answer.

pub use skillcue_load::{Body, CacheStats, Dialect, Form, Heading, LoadError, Loader, LoaderConfig, Outline};
