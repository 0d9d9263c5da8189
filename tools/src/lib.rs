//! The `graphrun` command as a library.
