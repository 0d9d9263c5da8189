//! A Piper voice made into two models, so that its sound can be streamed.
//!
//! A Piper voice is VITS: a text encoder with a duration model gives one latent frame for each 256 samples, a flow
//! turns the frames, a vocoder (HiFi-GAN) makes sound of them. As one model it gives its first sample when the last
//! one is ready. [`split`] cuts it before the flow:
//!
//! - the encoder: `input` i64 \[1, phonemes\], `input_lengths` i64 \[1\], `scales` f32 \[3\] (noise, length, noise of
//!   the durations) -> `latent` f32 \[1, channels, frames\];
//! - the decoder: `latent`, `from` i64 \[1\], `to` i64 \[1\] -> `output` f32 \[1, 1, 1, (to - from) * 256\].
//!
//! The flow looks further around a frame than the vocoder does, and the vocoder is the dear part. So the decoder has
//! one node that the voice had not: a slice between the two, which hands on only the frames `from..to`.

use std::collections::{HashMap, HashSet};

use prost::{DecodeError, Message, bytes::Bytes};
use thiserror::Error;

use super::onnx::{
    Attribute, FLOAT, Graph, INT64, Length, Model, Node, Tensor, TensorHead, Value, ValueName,
};

/// The tensor between the halves: the encoder's output, the decoder's input.
pub const LATENT: &str = "latent";
/// The decoder's input with the first frame that becomes sound.
pub const FROM: &str = "from";
/// The decoder's input with the first frame that no longer becomes sound.
pub const TO: &str = "to";
/// The decoder's output.
pub const SOUND: &str = "output";

/// The two halves of a voice, each the bytes of an ONNX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Halves {
    /// Phonemes to latent frames.
    pub encoder: Vec<u8>,
    /// Latent frames to sound.
    pub decoder: Vec<u8>,
}

/// Why a file could not be split.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model ({0}): give the .onnx file of a Piper voice")]
    NotOnnx(#[from] DecodeError),
    /// The model computes nothing.
    #[error("the model holds no graph: give the .onnx file of a Piper voice")]
    NoGraph,
    /// A tensor at which the voice is cut is not there.
    #[error(
        "the model has no tensor `{tensor}` ({role}): only Piper's own export of a VITS voice can be split"
    )]
    NoTensor {
        /// Its name in the export.
        tensor: &'static str,
        /// What it is to a voice.
        role: &'static str,
    },
    /// The vocoder does not begin with a convolution, whose weights tell how many channels it takes.
    #[error(
        "the vocoder does not begin with a convolution over channels: only Piper's own export of a VITS voice can be split"
    )]
    NoConvolution,
    /// The decoder depends on more than the latent.
    #[error(
        "the decoder would still need the voice's input `{input}`: only a voice with one speaker can be split"
    )]
    Needs {
        /// The voice's input.
        input: String,
    },
    /// A value is used that nothing makes.
    #[error("node `{node}` uses `{value}`, which nothing makes: the file is damaged")]
    Dangling {
        /// The node.
        node: String,
        /// The value.
        value: String,
    },
    /// A node holds a graph of its own, whose needs this surgery would not see.
    #[error("node `{node}` holds a graph of its own, which no Piper voice does")]
    Nested {
        /// The node.
        node: String,
    },
}

/// Frames drawn from the text's distribution and stretched to their durations.
const FLOW_INPUT: &str = "/Add_output_0";
/// 1.0 for each frame of an utterance, 0.0 for padding. A run has one utterance, so it is 1.0 throughout.
const MASK: &str = "/Cast_2_output_0";
const VOCODER_INPUT: &str = "/Mul_7_output_0";
/// What the vocoder takes instead of its input: the slice of it.
const KEPT: &str = "kept";
const FRAME_AXIS: &str = "frame_axis";

/// Splits a Piper voice.
///
/// The halves compute exactly what the voice did: nodes and weights are passed on as they are.
///
/// # Errors
/// When `voice` is not ONNX, or not a voice with one speaker as Piper's VITS export writes it.
pub fn split(voice: &[u8]) -> Result<Halves, SplitError> {
    let model = Model::decode(Bytes::copy_from_slice(voice))?;
    let graph = Graph::decode(model.graph.clone().ok_or(SplitError::NoGraph)?)?;
    let nodes = graph.node.iter().map(|bytes| node(bytes.clone())).collect::<Result<Vec<_>, _>>()?;
    let values = Values::of(&graph, &nodes)?;
    for (tensor, role) in [
        (FLOW_INPUT, "what the flow takes"),
        (MASK, "the mask of the frames"),
        (VOCODER_INPUT, "what the vocoder takes"),
        (SOUND, "the sound"),
    ] {
        if !values.maker.contains_key(tensor) {
            return Err(SplitError::NoTensor { tensor, role });
        }
    }
    let encoder = values.needed_for(FLOW_INPUT, &[])?;
    let decoder = values.needed_for(SOUND, &[FLOW_INPUT, MASK])?;
    if let Some(input) = decoder.inputs.into_iter().next() {
        return Err(SplitError::Needs { input: input.into() });
    }

    let channels = values.vocoder_channels().ok_or(SplitError::NoConvolution)?;
    let shape = [Length::Fixed(1), Length::Fixed(channels), Length::Named("frames".into())];
    let latent = encoded(&Value::tensor(LATENT, FLOAT, shape));
    let count = |name| encoded(&Value::tensor(name, INT64, [Length::Fixed(1)]));

    let encoder = Graph {
        name: "encoder".into(),
        node: encoder.nodes.iter().map(|&index| encoded(&renamed(&nodes[index]))).collect(),
        initializer: encoder.weights,
        input: graph.input,
        output: vec![latent.clone()],
    };
    let mut weights = decoder.weights;
    weights.push(encoded(&Tensor {
        dims: vec![1, 1, 1],
        data_type: FLOAT,
        float_data: vec![1.0],
        name: MASK.into(),
        ..Tensor::default()
    }));
    weights.push(encoded(&Tensor {
        dims: vec![1],
        data_type: INT64,
        int64_data: vec![2],
        name: FRAME_AXIS.into(),
        ..Tensor::default()
    }));
    let decoder = Graph {
        name: "decoder".into(),
        node: with_slice(decoder.nodes.iter().map(|&index| renamed(&nodes[index]))),
        initializer: weights,
        input: vec![latent, count(FROM), count(TO)],
        output: graph.output,
    };
    let file = |graph: Graph| Model { graph: Some(encoded(&graph)), ..model.clone() }.encode_to_vec();
    Ok(Halves { encoder: file(encoder), decoder: file(decoder) })
}

fn encoded(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

fn node(bytes: Bytes) -> Result<Node, SplitError> {
    let node = Node::decode(bytes)?;
    for attribute in &node.attribute {
        let attribute = Attribute::decode(attribute.clone())?;
        if attribute.g.is_some() || !attribute.graphs.is_empty() {
            return Err(SplitError::Nested { node: node.name });
        }
    }
    Ok(node)
}

fn renamed(node: &Node) -> Node {
    let mut node = node.clone();
    node.rename(FLOW_INPUT, LATENT);
    node
}

/// The decoder's nodes in order, the slice right behind the node whose output it cuts.
fn with_slice(nodes: impl Iterator<Item = Node>) -> Vec<Bytes> {
    let mut all = Vec::new();
    for mut node in nodes {
        let last_of_flow = node.makes(VOCODER_INPUT);
        if !last_of_flow {
            node.rename(VOCODER_INPUT, KEPT);
        }
        all.push(encoded(&node));
        if last_of_flow {
            all.push(encoded(&Node {
                input: [VOCODER_INPUT, FROM, TO, FRAME_AXIS].map(String::from).into(),
                output: vec![KEPT.into()],
                name: KEPT.into(),
                op_type: "Slice".into(),
                ..Node::default()
            }));
        }
    }
    all
}

/// Where each value of a graph comes from.
struct Values<'a> {
    nodes: &'a [Node],
    /// The node that makes it.
    maker: HashMap<&'a str, usize>,
    weights: HashMap<String, Bytes>,
    inputs: HashSet<String>,
}

/// What a value is computed from.
#[derive(Default)]
struct Needed<'a> {
    /// In the order of the graph, which is an order of execution.
    nodes: Vec<usize>,
    weights: Vec<Bytes>,
    inputs: Vec<&'a str>,
}

impl<'a> Values<'a> {
    fn of(graph: &Graph, nodes: &'a [Node]) -> Result<Self, DecodeError> {
        let maker = nodes
            .iter()
            .enumerate()
            .flat_map(|(index, node)| node.output.iter().map(move |name| (name.as_str(), index)))
            .collect();
        let weights = graph
            .initializer
            .iter()
            .map(|tensor| Ok((TensorHead::decode(tensor.clone())?.name, tensor.clone())))
            .collect::<Result<_, DecodeError>>()?;
        let inputs = graph
            .input
            .iter()
            .map(|value| Ok(ValueName::decode(value.clone())?.name))
            .collect::<Result<_, DecodeError>>()?;
        Ok(Values { nodes, maker, weights, inputs })
    }

    /// The weights of a convolution have the shape \[outputs, inputs, width\].
    fn vocoder_channels(&self) -> Option<i64> {
        let first =
            self.nodes.iter().find(|node| node.input.first().is_some_and(|name| name == VOCODER_INPUT))?;
        let weights = self.weights.get(first.input.get(1)?)?;
        match TensorHead::decode(weights.clone()).ok()?.dims[..] {
            [_, channels, _] if channels > 0 => Some(channels),
            _ => None,
        }
    }

    /// Follows `value` back to weights and inputs, not beyond the values of `stop`.
    fn needed_for(&'a self, value: &'a str, stop: &[&str]) -> Result<Needed<'a>, SplitError> {
        let mut needed = Needed::default();
        let mut seen: HashSet<&str> = stop.iter().copied().collect();
        let mut open = vec![("output", value)];
        while let Some((user, value)) = open.pop() {
            if value.is_empty() || !seen.insert(value) {
                continue;
            }
            if let Some(weight) = self.weights.get(value) {
                needed.weights.push(weight.clone());
            } else if let Some(&index) = self.maker.get(value) {
                let node = &self.nodes[index];
                needed.nodes.push(index);
                open.extend(node.input.iter().map(|input| (node.name.as_str(), input.as_str())));
            } else if self.inputs.contains(value) {
                needed.inputs.push(value);
            } else {
                return Err(SplitError::Dangling { node: user.into(), value: value.into() });
            }
        }
        needed.nodes.sort_unstable();
        needed.nodes.dedup();
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use ort::{session::SessionInputValue, value::PrimitiveTensorElementType};
    use proptest::prelude::*;

    use super::*;
    use crate::speech::{fixtures::asset, runtime};

    fn op(inputs: &[&str], output: &str) -> Bytes {
        encoded(&Node {
            input: inputs.iter().map(|&name| name.into()).collect(),
            output: vec![output.into()],
            name: format!("make {output}"),
            op_type: "Op".into(),
            ..Node::default()
        })
    }

    fn value(name: &str) -> Bytes {
        encoded(&Value::tensor(name, FLOAT, []))
    }

    /// The shape of a voice, three nodes long.
    fn voice(vocoder_inputs: &[&str]) -> Model {
        let weight =
            |name: &str| encoded(&Tensor { name: name.into(), dims: vec![256, 192, 7], ..Tensor::default() });
        let graph = Graph {
            name: "voice".into(),
            node: vec![
                op(&["input", "embedding", ""], FLOW_INPUT),
                op(&["input"], MASK),
                op(&[FLOW_INPUT, MASK, "flow"], VOCODER_INPUT),
                op(vocoder_inputs, SOUND),
            ],
            initializer: ["embedding", "flow", "vocoder"].map(weight).into(),
            input: vec![value("input"), value("sid")],
            output: vec![value(SOUND)],
        };
        Model { ir_version: 8, graph: Some(encoded(&graph)), ..Model::default() }
    }

    fn graph(half: &[u8]) -> (Vec<Node>, Vec<String>, Vec<String>) {
        let graph = Graph::decode(Model::decode(half).unwrap().graph.unwrap()).unwrap();
        let nodes = graph.node.into_iter().map(|bytes| Node::decode(bytes).unwrap()).collect();
        let weights = graph.initializer.into_iter().map(|bytes| TensorHead::decode(bytes).unwrap().name);
        let inputs = graph.input.into_iter().map(|bytes| ValueName::decode(bytes).unwrap().name);
        (nodes, weights.collect(), inputs.collect())
    }

    #[test]
    fn each_half_keeps_what_it_needs_and_no_more() {
        let halves = split(&voice(&[VOCODER_INPUT, "vocoder"]).encode_to_vec()).unwrap();
        let (nodes, weights, inputs) = graph(&halves.encoder);
        assert_eq!(nodes.iter().map(|node| &node.output[0]).collect::<Vec<_>>(), [LATENT]);
        assert_eq!(weights, ["embedding"]);
        assert_eq!(inputs, ["input", "sid"]);

        let (nodes, mut weights, inputs) = graph(&halves.decoder);
        assert_eq!(
            nodes.iter().map(|node| &node.output[0]).collect::<Vec<_>>(),
            [VOCODER_INPUT, KEPT, SOUND]
        );
        assert_eq!(nodes[0].input, [LATENT, MASK, "flow"]);
        assert_eq!(nodes[2].input, [KEPT, "vocoder"]);
        weights.sort();
        assert_eq!(weights, [MASK, "flow", FRAME_AXIS, "vocoder"]);
        assert_eq!(inputs, [LATENT, FROM, TO]);
    }

    #[test]
    fn a_voice_whose_vocoder_asks_for_the_speaker_is_refused_by_that_name() {
        let error = split(&voice(&[VOCODER_INPUT, "vocoder", "sid"]).encode_to_vec()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the decoder would still need the voice's input `sid`: only a voice with one speaker can be split"
        );
    }

    #[test]
    fn a_vocoder_of_another_make_is_refused() {
        let error = split(&voice(&[VOCODER_INPUT]).encode_to_vec()).unwrap_err();
        assert!(matches!(error, SplitError::NoConvolution), "{error}");
    }

    #[test]
    fn a_model_that_is_no_voice_is_refused_by_the_tensor_it_lacks() {
        let graph =
            Graph { node: vec![op(&["input"], SOUND)], input: vec![value("input")], ..Graph::default() };
        let model = Model { graph: Some(encoded(&graph)), ..Model::default() };
        let error = split(&model.encode_to_vec()).unwrap_err();
        assert!(matches!(error, SplitError::NoTensor { tensor: FLOW_INPUT, .. }), "{error}");
    }

    #[test]
    fn a_value_from_nowhere_and_a_node_with_a_graph_are_refused() {
        let error = split(&voice(&[VOCODER_INPUT, "vocoder", "lost"]).encode_to_vec()).unwrap_err();
        assert!(matches!(&error, SplitError::Dangling { value, .. } if value == "lost"), "{error}");

        let branch = Attribute { g: Some(Bytes::new()), graphs: vec![] };
        let node = Node { name: "if".into(), attribute: vec![encoded(&branch)], ..Node::default() };
        let graph = Graph { node: vec![encoded(&node)], ..Graph::default() };
        let model = Model { graph: Some(encoded(&graph)), ..Model::default() };
        let error = split(&model.encode_to_vec()).unwrap_err();
        assert!(matches!(&error, SplitError::Nested { node } if node == "if"), "{error}");
    }

    #[test]
    fn text_and_an_empty_file_are_not_onnx() {
        assert!(matches!(split(b"{\"audio\": 1}").unwrap_err(), SplitError::NotOnnx(_)));
        assert!(matches!(split(b"").unwrap_err(), SplitError::NoGraph));
    }

    type Inputs = Vec<(&'static str, SessionInputValue<'static>)>;

    /// What a model gives. Its inputs are made when the library is loaded.
    fn run(model: &[u8], name: &str, inputs: impl FnOnce() -> Inputs) -> (Vec<i64>, Vec<f32>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        std::fs::write(&path, model).unwrap();
        let mut session = runtime::session(&asset("onnxruntime"), &path, 1).unwrap();
        let outputs = session.run(inputs()).unwrap();
        let (shape, values) = outputs[name].try_extract_tensor::<f32>().unwrap();
        (shape.to_vec(), values.to_vec())
    }

    fn tensor<T: PrimitiveTensorElementType + Clone + std::fmt::Debug + 'static>(
        shape: impl Into<Vec<i64>>,
        values: Vec<T>,
    ) -> SessionInputValue<'static> {
        ort::value::Tensor::from_array((shape.into(), values)).unwrap().into()
    }

    #[test]
    fn the_halves_of_a_real_voice_sound_exactly_like_the_whole() {
        let voice = std::fs::read(asset("piper-joe")).unwrap();
        let halves = split(&voice).unwrap();
        let ids: Vec<i64> = [1, 0].into_iter().chain((14..60).flat_map(|id| [id, 0])).chain([2]).collect();
        let len = ids.len() as i64;
        // No random variation.
        let text = || {
            vec![
                ("input", tensor([1, len], ids.clone())),
                ("input_lengths", tensor([1], vec![len])),
                ("scales", tensor([3], vec![0.0_f32, 1.0, 0.0])),
            ]
        };
        let (_, whole) = run(&voice, SOUND, text);
        let (shape, latent) = run(&halves.encoder, LATENT, text);
        let frames = shape[2];
        assert_eq!((shape[1], 256 * frames), (192, whole.len() as i64));
        let (_, joined) = run(&halves.decoder, SOUND, || {
            vec![
                (LATENT, tensor(shape, latent)),
                (FROM, tensor([1], vec![0_i64])),
                (TO, tensor([1], vec![frames])),
            ]
        });
        let difference = whole.iter().zip(&joined).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert_eq!((joined.len(), difference), (whole.len(), 0.0));
        assert!(whole.iter().any(|sample| sample.abs() > 0.1));
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(
            garbage in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
            bytes in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            let _ = split(&garbage);
            let mut damaged = voice(&[VOCODER_INPUT, "vocoder"]).encode_to_vec();
            let at = at.index(damaged.len());
            let end = (at + bytes.len()).min(damaged.len());
            damaged.splice(at..end, bytes);
            let _ = split(&damaged);
            let _ = split(&damaged[..at]);
        }
    }
}
