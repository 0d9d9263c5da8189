//! The node reference, made from the registry: on the screen and as a page of the docs.

use std::fmt::Write;

use graph_core::{
    Registry,
    kind::{Arity, KindSpec, PortRole, PortSpec, Trigger},
};
use serde_json::Value;

/// The whole reference as Markdown.
pub fn page(registry: &Registry) -> String {
    let mut text = String::from(
        "# Node reference\n\nMade by `graphrun nodes --markdown` from the registry. A domain, the part of a kind before the slash, is a \
         cargo feature of the same name.\n",
    );
    for kind in registry.kinds() {
        let _ = write!(text, "\n## `{}`\n\n{}\n", kind.kind, kind.about);
        let _ = write!(text, "\n| port | does | payload | what crosses it |\n|---|---|---|---|\n");
        for port in &kind.ports {
            let _ =
                writeln!(text, "| `{}` | {} | {} | {} |", port.name, role(port), port.payload, port.about);
        }
        let params = params(kind);
        if !params.is_empty() {
            let _ = write!(text, "\n| parameter | default | what it does |\n|---|---|---|\n");
        }
        for param in params {
            let _ = writeln!(text, "| `{}` | {} | {} |", param.name, code(&param.default), param.about);
        }
    }
    text
}

fn code(default: &str) -> String {
    if default == REQUIRED { REQUIRED.to_owned() } else { format!("`{default}`") }
}

/// One kind for the screen.
pub fn kind(kind: &KindSpec) -> String {
    let mut text = format!("{}\n\n  {}\n\nports\n", kind.kind, kind.about);
    let widest = kind.ports.iter().map(|port| port.name.len()).max().unwrap_or(0);
    for port in &kind.ports {
        let _ = writeln!(text, "  {:widest$}  {}, {}: {}", port.name, role(port), port.payload, port.about);
    }
    let params = params(kind);
    if !params.is_empty() {
        text.push_str("\nparameters\n");
    }
    let widest = params.iter().map(|param| param.name.len()).max().unwrap_or(0);
    for param in params {
        let _ = writeln!(text, "  {:widest$}  {}  ({})", param.name, param.about, param.default);
    }
    text
}

fn role(port: &PortSpec) -> &'static str {
    match port.role {
        PortRole::Input { .. } if port.wire => "receives from a socket",
        PortRole::Output { .. } if port.wire => "sends to a socket",
        PortRole::Input { trigger: Trigger::Trigger, required: true } => "input",
        PortRole::Input { trigger: Trigger::Trigger, required: false } => "optional input",
        PortRole::Input { trigger: Trigger::Control, .. } => "control input",
        PortRole::Input { trigger: Trigger::Latch, .. } => "latch",
        PortRole::Output { arity: Arity::One } => "output, one a cause",
        PortRole::Output { arity: Arity::Many } => "output, many a cause",
        PortRole::Done => "a sink's own edge",
    }
}

struct Param {
    name: String,
    default: String,
    about: String,
}

const REQUIRED: &str = "required";

fn params(kind: &KindSpec) -> Vec<Param> {
    let schema = kind.params.as_value();
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let param = |(name, property): (&String, &Value)| Param {
        name: name.clone(),
        default: match property.get("default") {
            _ if required(name) => REQUIRED.to_owned(),
            None | Some(Value::Null) => "none".to_owned(),
            Some(default) => default.to_string(),
        },
        about: property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    };
    properties.iter().map(param).collect()
}
