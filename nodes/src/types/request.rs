//! Requests to other programs.

use std::sync::Arc;

use graph_core::payload;

/// A request over IPC: a method and what it is given. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpcRequest {
    /// The method's name.
    pub method: Arc<str>,
    /// Its argument as JSON.
    pub data: Arc<str>,
}
payload!(IpcRequest, "ipc request");
