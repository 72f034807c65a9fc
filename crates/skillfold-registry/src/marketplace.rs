//! Marketplaces.
