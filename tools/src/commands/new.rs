//! `graphrun new`: starter files.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{fail, print};
use crate::{
    cli::{New, NewArgs},
    terminal,
};

const GRAPH: &str = include_str!("../../templates/graph.ron");
const NODE: &str = include_str!("../../templates/node.rs");

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum NewError {
    #[error("`{}` names no graph: give a name such as `greeting`, or the path of its file", .0.display())]
    GraphName(PathBuf),
    #[error("`{0}` is no kind: write DOMAIN/NAME in small letters, digits and hyphens, such as `audio/gain`")]
    Kind(String),
    #[error("there is no folder nodes/src here or above: change to the sources of graphrun first")]
    NoSources,
    #[error(
        "there is no domain `{domain}`, only {known}: a new one is a folder in nodes/src and a cargo feature"
    )]
    Domain { domain: String, known: String },
    #[error("`{}` is there already, and was left as it is", .0.display())]
    Exists(PathBuf),
    #[error("cannot write `{}`: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes what was asked for, and says on stderr what to do with it.
pub fn run(args: &NewArgs) -> u8 {
    let written = match &args.what {
        New::Graph { name } => graph(name),
        New::Node { kind } => {
            std::env::current_dir().map_err(|_| NewError::NoSources).and_then(|here| node(kind, &here))
        }
    };
    match written {
        Ok(Written { path, next }) => {
            terminal::say(&format_args!("graphrun: {next}\n"));
            print(&format!("{}\n", path.display()))
        }
        Err(error) => fail(&error),
    }
}

#[derive(Debug)]
struct Written {
    path: PathBuf,
    next: String,
}

fn graph(name: &Path) -> Result<Written, NewError> {
    let path = if name.extension() == Some(OsStr::new("ron")) {
        name.to_owned()
    } else {
        let mut path = name.as_os_str().to_owned();
        path.push(".ron");
        path.into()
    };
    let plain = |stem: &&str| stem.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let stem = path.file_stem().and_then(OsStr::to_str).filter(plain);
    let stem = stem.filter(|stem| name.file_name().is_some() && !stem.starts_with('.'));
    let stem = stem.ok_or_else(|| NewError::GraphName(name.into()))?;
    write(&path, &GRAPH.replace("template", stem))?;
    let next = format!("written; run it with `graphrun {}`", path.display());
    Ok(Written { path, next })
}

fn node(kind: &str, here: &Path) -> Result<Written, NewError> {
    let (domain, name) = kind
        .split_once('/')
        .filter(|(domain, name)| is_word(domain) && is_word(name))
        .ok_or_else(|| NewError::Kind(kind.into()))?;
    let nodes = here.ancestors().map(|above| above.join("nodes/src")).find(|nodes| nodes.is_dir());
    let nodes = nodes.ok_or(NewError::NoSources)?;
    let folder = nodes.join(domain);
    if !folder.join("mod.rs").is_file() {
        return Err(NewError::Domain { domain: domain.into(), known: domains(&nodes) });
    }
    let module = name.replace('-', "_");
    let node = camel_case(name);
    let text = NODE.replace("domain/template", kind).replace("Template", &node);
    let path = folder.join(format!("{module}.rs"));
    write(&path, &text)?;
    let next = format!(
        "written; add `pub mod {module};` and `.transform::<{module}::{node}>()` to {}",
        folder.join("mod.rs").display()
    );
    Ok(Written { path, next })
}

fn is_word(text: &str) -> bool {
    let whole = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    text.split('-').all(whole)
}

fn camel_case(name: &str) -> String {
    let capital = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    name.split('-').map(capital).collect()
}

/// The domains are the folders with a `register` in their module.
fn domains(nodes: &Path) -> String {
    let registers = |folder: &PathBuf| {
        fs::read_to_string(folder.join("mod.rs")).is_ok_and(|text| text.contains("pub fn register("))
    };
    let folders = fs::read_dir(nodes).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<_> = folders
        .filter(registers)
        .filter_map(|folder| Some(format!("`{}`", folder.file_name()?.to_str()?)))
        .collect();
    names.sort();
    names.join(", ")
}

fn write(path: &Path, text: &str) -> Result<(), NewError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(NewError::Exists(path.into())),
        Err(source) => Err(NewError::Write { path: path.into(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_bears_its_files_name_and_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let written = graph(&folder.path().join("greeting")).unwrap();
        assert_eq!(written.path, folder.path().join("greeting.ron"));
        let text = fs::read_to_string(&written.path).unwrap();
        assert!(text.contains(r#"name: "greeting""#) && text.contains(r#"file: "greeting.wav""#), "{text}");
        fs::write(&written.path, "mine").unwrap();
        let error = graph(&folder.path().join("greeting.ron")).unwrap_err();
        assert!(matches!(error, NewError::Exists(_)), "{error}");
        assert_eq!(fs::read_to_string(&written.path).unwrap(), "mine");
    }

    #[test]
    fn a_node_is_named_after_its_kind() {
        let sources = tempfile::tempdir().unwrap();
        let folder = sources.path().join("nodes/src/audio");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mod.rs"), "pub fn register(").unwrap();
        let written = node("audio/low-pass2", &folder).unwrap();
        assert_eq!(written.path, folder.join("low_pass2.rs"));
        assert!(written.next.contains("`.transform::<low_pass2::LowPass2>()`"), "{}", written.next);
        let text = fs::read_to_string(&written.path).unwrap();
        assert!(text.contains(r#"KIND: &'static str = "audio/low-pass2""#), "{text}");
        assert!(text.contains("impl Transform for LowPass2 {"), "{text}");
        assert!(!text.to_lowercase().contains("template"), "{text}");

        assert!(matches!(node("audio/low-pass2", &folder), Err(NewError::Exists(_))));
        let error = node("vidoe/scale", sources.path()).unwrap_err();
        assert!(error.to_string().contains("no domain `vidoe`, only `audio`"), "{error}");
    }

    #[test]
    fn bad_names_are_refused_with_what_a_good_one_looks_like() {
        let folder = tempfile::tempdir().unwrap();
        for kind in ["gain", "audio/", "/gain", "Audio/gain", "audio/2d", "audio/a--b", "audio/é", "../x/y"]
        {
            assert!(matches!(node(kind, folder.path()), Err(NewError::Kind(_))), "{kind}");
        }
        for name in ["", "..", "a\"b", ".ron"] {
            let error = graph(&folder.path().join(name)).unwrap_err();
            assert!(matches!(error, NewError::GraphName(_)), "{name} {error}");
        }
        assert!(matches!(node("audio/gain", folder.path()), Err(NewError::NoSources)));
        let error = graph(&folder.path().join("no/such/place")).unwrap_err();
        assert!(matches!(error, NewError::Write { .. }), "{error}");
    }
}
