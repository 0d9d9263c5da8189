//! Finds the programs that graphrun calls.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The executable `name` in the first directory of `search_path` that has one; `search_path` is written like `PATH`.
pub fn find(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path).map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_with_an_executable_wins() {
        let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
        std::fs::write(directories[0].path().join("tool"), "not executable").unwrap();
        for directory in &directories[1..] {
            let tool = directory.path().join("tool");
            std::fs::write(&tool, "").unwrap();
            std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths(directories.iter().map(|d| d.path())).unwrap();
        assert_eq!(find("tool", &path), Some(directories[1].path().join("tool")));
        assert_eq!(find("another", &path), None);
    }
}
