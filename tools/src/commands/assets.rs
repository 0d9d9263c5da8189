//! `graphrun assets`.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::DecimalBytes;

use super::{fail, print};
use crate::{
    assets::{AssetError, Progress, Source, State, Store},
    cli::{AssetsAction, AssetsArgs},
    exit,
    terminal::{self, Terminal},
};

/// Fetches, lists or verifies assets.
pub fn run(args: &AssetsArgs) -> u8 {
    let store = match Store::shipped() {
        Ok(store) => store,
        Err(error) => return fail(&error),
    };
    match &args.action {
        None | Some(AssetsAction::List) => print(&list(&store, terminal::stdout())),
        Some(AssetsAction::Pull { names }) => pull(&store, names),
        Some(AssetsAction::Verify { names }) => verify(&store, names),
    }
}

fn pull(store: &Store, names: &[String]) -> u8 {
    let names = named_or(names, store.catalogue().assets().map(|(_, asset)| asset.name.as_str()));
    let mut progress = Progress::on_stderr();
    let pulled = store.ensure(&names, &mut |event| progress.show(event));
    drop(progress);
    match pulled {
        Ok(paths) => print(&paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>()),
        Err(error) => fail(&error),
    }
}

fn verify(store: &Store, names: &[String]) -> u8 {
    let assets = store.catalogue().assets();
    let here =
        assets.filter(|(_, asset)| store.state(asset) != State::Absent).map(|(_, asset)| asset.name.as_str());
    let mut status = exit::OK;
    let mut result = String::new();
    for name in named_or(names, here) {
        match store.catalogue().find(name).and_then(|(_, asset)| store.verify(asset)) {
            Ok(()) => result += &format!("{name}: ok\n"),
            Err(error @ AssetError::Mismatch { .. }) => {
                result += &format!("{name}: damaged\n");
                status = fail(&format_args!("{error}; `graphrun assets pull {name}` fetches it anew"));
            }
            Err(error) => status = fail(&error),
        }
    }
    exit::worst([print(&result), status])
}

fn named_or<'a>(names: &'a [String], all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if names.is_empty() { all.collect() } else { names.iter().map(String::as_str).collect() }
}

fn list(store: &Store, terminal: Terminal) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "ASSET",
        "VERSION",
        "SIZE",
        "HERE",
        "LICENCE",
        "WHAT IT IS",
    ]);
    if terminal.is_terminal {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(terminal.width as u16);
    }
    for (bundle, asset) in store.catalogue().assets() {
        let version = match &bundle.source {
            Source::Derived { from, .. } => format!("from {from}"),
            source => source.version().to_owned(),
        };
        let here = match store.state(asset) {
            State::Present => "yes",
            State::Unverified => "unverified",
            State::Absent => "no",
        };
        table.add_row([
            asset.name.clone(),
            version,
            DecimalBytes(asset.content.bytes()).to_string(),
            here.into(),
            bundle.licence.clone(),
            asset.about.clone(),
        ]);
    }
    if let Some(size) = table.column_mut(2) {
        size.set_cell_alignment(CellAlignment::Right);
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{lines}\nin {}\n", store.root().display())
}
