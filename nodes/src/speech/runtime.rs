//! ONNX Runtime: the shared library is loaded once a process, models are opened as sessions of it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use graph_core::AssetRef;
use ort::{
    LoadDynamicError,
    environment::Environment,
    logging::LogLevel,
    session::{Session, builder::GraphOptimizationLevel},
};
use thiserror::Error;

/// Why a model could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no file at the library's path.
    #[error("no ONNX Runtime library at {}: run `graphrun assets pull`, or give the path of libonnxruntime.so", .path.display())]
    LibraryMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is no shared library, or not the one of ONNX Runtime.
    #[error("{} is not an ONNX Runtime library: {reason}", .path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The library is too old.
    #[error("{} is ONNX Runtime {found}, at least 1.{}.0 is needed", .path.display(), ort::MINOR_VERSION)]
    LibraryTooOld {
        /// The library.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// Another copy of the library already serves this process.
    #[error("ONNX Runtime is already loaded from {}, so {} cannot be: use one library for the whole graph", .loaded.display(), .asked.display())]
    AnotherLibrary {
        /// The library in use.
        loaded: PathBuf,
        /// The library asked for.
        asked: PathBuf,
    },
    /// The library loaded but did not start.
    #[error("ONNX Runtime from {} did not start: {reason}", .path.display())]
    NoStart {
        /// The library.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// There is no file at the model's path.
    #[error("no model at {}: run `graphrun assets pull`, or give the path of a model", .path.display())]
    ModelMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is not a model that this ONNX Runtime can run.
    #[error("{} is not a model that ONNX Runtime can run: {reason}", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What ONNX Runtime said.
        reason: String,
    },
}

/// Where the library is unless a graph says otherwise.
pub fn library() -> AssetRef {
    AssetRef::new("asset:onnxruntime")
}

struct Loaded {
    library: PathBuf,
    environment: Option<Environment>,
}

static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

/// Opens `model` with the ONNX Runtime at `library`; a run uses `threads` threads, the caller's own included.
///
/// The first call of the process loads the library; later ones must name the same file, by whatever path. Threads
/// beyond the first do not spin between runs: an idle session costs nothing.
///
/// # Errors
/// See [`RuntimeError`]; each names the file and what to do.
pub fn session(library: &Path, model: &Path, threads: usize) -> Result<Session, RuntimeError> {
    let environment = environment(library)?;
    if !model.is_file() {
        return Err(RuntimeError::ModelMissing { path: model.into() });
    }
    let format =
        format(model).map_err(|e| RuntimeError::NotAModel { path: model.into(), reason: e.to_string() })?;
    open(&environment, model, format, threads)
        .map_err(|e| RuntimeError::NotAModel { path: model.into(), reason: e.to_string() })
}

fn open(environment: &Environment, model: &Path, format: &str, threads: usize) -> ort::Result<Session> {
    Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        .with_config_entry("session.load_model_format", format)?
        .commit_from_file(model)
}

/// ONNX Runtime goes by the ending of a file's name, which an asset has not: tell it what the file holds.
fn format(model: &Path) -> io::Result<&'static str> {
    let mut head = [0; 8];
    let read = File::open(model)?.read(&mut head)?;
    Ok(if head[..read].ends_with(b"ORTM") { "ORT" } else { "ONNX" })
}

fn environment(library: &Path) -> Result<Environment, RuntimeError> {
    let path = library.canonicalize().map_err(|_| RuntimeError::LibraryMissing { path: library.into() })?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Loaded { library, .. }) = &*loaded
        && *library != path
    {
        return Err(RuntimeError::AnotherLibrary { loaded: library.clone(), asked: path });
    }
    if let Some(Loaded { environment: Some(environment), .. }) = &*loaded {
        return Ok(environment.clone());
    }
    let builder = ort::init_from(&path).map_err(|e| refused(&path, e))?;
    // The library stays loaded whatever comes next: from here on no other one can be used.
    let environment = builder.with_telemetry(false).with_logger(Arc::new(log)).build();
    *loaded = Some(Loaded { library: path.clone(), environment: environment.as_ref().ok().cloned() });
    let environment = environment.map_err(|e| RuntimeError::NoStart { path, reason: e.to_string() })?;
    environment.set_log_level(LogLevel::Warning);
    Ok(environment)
}

fn refused(path: &Path, error: LoadDynamicError) -> RuntimeError {
    let path = path.to_path_buf();
    match error {
        LoadDynamicError::BadVersion { version_str, .. } => {
            RuntimeError::LibraryTooOld { path, found: version_str }
        }
        LoadDynamicError::Dlopen { error, .. } => {
            RuntimeError::NotALibrary { path, reason: error.to_string() }
        }
        LoadDynamicError::MissingApi { .. } => {
            RuntimeError::NotALibrary { path, reason: "it does not export OrtGetApiBase".into() }
        }
        LoadDynamicError::InvalidVersionString => {
            RuntimeError::NotALibrary { path, reason: "its version is no text".into() }
        }
    }
}

fn log(level: LogLevel, _category: &str, id: &str, _code: &str, message: &str) {
    match level {
        LogLevel::Fatal | LogLevel::Error => tracing::error!(session = id, "{message}"),
        LogLevel::Warning => tracing::warn!(session = id, "{message}"),
        LogLevel::Info | LogLevel::Verbose => tracing::debug!(session = id, "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::speech::fixtures::asset;

    #[test]
    fn a_model_opens_and_tells_its_inputs() {
        let session = session(&asset("onnxruntime"), &asset("silero-vad"), 1).unwrap();
        let names: Vec<_> = session.inputs().iter().map(|input| input.name().to_owned()).collect();
        assert_eq!(names, ["input", "state", "sr"]);
    }

    #[test]
    fn a_model_in_the_format_of_onnx_runtime_opens_whatever_its_name() {
        session(&asset("onnxruntime"), &asset("moonshine-encoder"), 1).unwrap();
    }

    #[test]
    fn the_same_library_by_another_path_is_the_same_library() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("libonnxruntime.so");
        std::os::unix::fs::symlink(asset("onnxruntime"), &link).unwrap();
        session(&asset("onnxruntime"), &asset("silero-vad"), 1).unwrap();
        session(&link, &asset("silero-vad"), 1).unwrap();
    }

    #[test]
    fn a_second_library_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.so");
        fs::write(&other, "").unwrap();
        session(&asset("onnxruntime"), &asset("silero-vad"), 1).unwrap();
        let error = session(&other, &asset("silero-vad"), 1).unwrap_err();
        assert!(matches!(error, RuntimeError::AnotherLibrary { .. }), "{error}");
    }

    #[test]
    fn a_missing_library_says_what_to_run() {
        let error = session(Path::new("/nowhere/libonnxruntime.so"), Path::new("m.onnx"), 1).unwrap_err();
        assert!(matches!(error, RuntimeError::LibraryMissing { .. }));
        assert_eq!(
            error.to_string(),
            "no ONNX Runtime library at /nowhere/libonnxruntime.so: run `graphrun assets pull`, or give the path of \
             libonnxruntime.so"
        );
    }

    #[test]
    fn an_old_library_is_told_with_its_version() {
        let error = LoadDynamicError::BadVersion { version_str: "1.17.3".into(), path: "ort.so".into() };
        assert_eq!(
            refused(Path::new("ort.so"), error).to_string(),
            "ort.so is ONNX Runtime 1.17.3, at least 1.24.0 is needed"
        );
    }

    #[test]
    fn a_missing_model_and_a_file_that_is_no_model_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent.onnx");
        let error = session(&asset("onnxruntime"), &absent, 1).unwrap_err();
        assert!(matches!(error, RuntimeError::ModelMissing { .. }), "{error}");

        let text = folder.path().join("text.onnx");
        fs::write(&text, "not a model").unwrap();
        let error = session(&asset("onnxruntime"), &text, 1).unwrap_err();
        assert!(matches!(error, RuntimeError::NotAModel { .. }), "{error}");
    }
}
