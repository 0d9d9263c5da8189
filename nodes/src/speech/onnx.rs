//! The ONNX messages that splitting a model takes, decoded no further than it needs.
//!
//! What is only passed on stays the bytes it was, so nothing inside it can get lost. Field numbers and enum values
//! are those of `onnx/onnx.proto` (IR version 8 and later).

use prost::{Message, bytes::Bytes};

/// A file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub(super) graph: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub(super) opset_import: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "14")]
    pub(super) metadata_props: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "25")]
    pub(super) functions: Vec<Bytes>,
}

/// What a model computes. The types of its inner values are left out: the runtime infers them.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(super) node: Vec<Bytes>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(super) initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub(super) input: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "12")]
    pub(super) output: Vec<Bytes>,
}

/// One operation.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    /// An omitted optional input has the empty name.
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(super) attribute: Vec<Bytes>,
    #[prost(string, tag = "6")]
    pub(super) doc_string: String,
    #[prost(string, tag = "7")]
    pub(super) domain: String,
    #[prost(string, tag = "8")]
    pub(super) overload: String,
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub(super) metadata_props: Vec<Bytes>,
}

impl Node {
    /// Gives a value that the node uses or makes another name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for name in self.input.iter_mut().chain(&mut self.output).filter(|name| *name == from) {
            *name = to.into();
        }
    }

    pub(super) fn makes(&self, value: &str) -> bool {
        self.output.iter().any(|name| name == value)
    }
}

/// An attribute of a node, as far as it can hold a graph.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub(super) g: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub(super) graphs: Vec<Bytes>,
}

/// A constant tensor: the weights, for instance.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(float, repeated, tag = "4")]
    pub(super) float_data: Vec<f32>,
    #[prost(int64, repeated, tag = "7")]
    pub(super) int64_data: Vec<i64>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
}

/// The name and shape of a constant tensor, without its data.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorHead {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
}

/// `TensorProto.DataType`.
pub(super) const FLOAT: i32 = 1;
/// `TensorProto.DataType`.
pub(super) const INT64: i32 = 7;

/// An input or output of a graph.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    r#type: Option<Type>,
}

/// The name of an input, whatever its type.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueName {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Type {
    #[prost(message, optional, tag = "1")]
    tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorType {
    #[prost(int32, tag = "1")]
    elem_type: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "1")]
    dim: Vec<Dim>,
}

#[derive(Clone, PartialEq, Message)]
struct Dim {
    #[prost(oneof = "Length", tags = "1, 2")]
    length: Option<Length>,
}

/// How long a tensor is along one axis.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Length {
    /// So many.
    #[prost(int64, tag = "1")]
    Fixed(i64),
    /// As many as each run brings.
    #[prost(string, tag = "2")]
    Named(String),
}

impl Value {
    /// An input or output: a tensor of `elem_type` with one length an axis.
    pub(super) fn tensor(name: &str, elem_type: i32, shape: impl IntoIterator<Item = Length>) -> Self {
        let dim = shape.into_iter().map(|length| Dim { length: Some(length) }).collect();
        let tensor_type = TensorType { elem_type, shape: Some(Shape { dim }) };
        Value { name: name.into(), r#type: Some(Type { tensor_type: Some(tensor_type) }) }
    }
}
