//! `graphrun assets`.

use comfy_table::CellAlignment;
use indicatif::DecimalBytes;

use super::{fail, lines, plain_table, print};
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
    exit::combine([print(&result), status])
}

fn named_or<'a>(names: &'a [String], all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if names.is_empty() { all.collect() } else { names.iter().map(String::as_str).collect() }
}

/// From so many columns on there is room to say what each asset is.
const WIDE: u16 = 120;

fn list(store: &Store, terminal: Terminal) -> String {
    let explains = !terminal.is_terminal || terminal.width >= WIDE;
    let mut assets = plain_table(terminal);
    assets.set_header(row(["asset", "version", "size", "here", "licence"], "what it is", explains));
    let mut notes = plain_table(terminal);
    for bundle in &store.catalogue().bundles {
        let version = match &bundle.source {
            Source::Derived { from, .. } => format!("from {from}"),
            source => source.version().to_owned(),
        };
        for asset in &bundle.assets {
            let here = match store.state(asset) {
                State::Present => "yes",
                State::Unverified => "unverified",
                State::Absent => "no",
            };
            let size = DecimalBytes(asset.content.bytes()).to_string();
            assets.add_row(row(
                [&asset.name, &version, &size, here, &bundle.licence],
                &asset.about,
                explains,
            ));
        }
        if let Some(note) = &bundle.note {
            notes.add_row([bundle.source.name(), note]);
        }
    }
    if let Some(size) = assets.column_mut(2) {
        size.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n{}\n in {}\n", lines(&assets), lines(&notes), store.root().display())
}

fn row<'a>(cells: [&'a str; 5], about: &'a str, explains: bool) -> Vec<&'a str> {
    cells.into_iter().chain(explains.then_some(about)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::{Catalogue, Clients};

    #[test]
    fn the_list_fits_eighty_columns_and_a_pipe_gets_a_line_an_asset() {
        let store = Store::new(Catalogue::shipped().clone(), "/none".into(), Clients::in_path(""), &[]);
        let assets = store.catalogue().assets().count();
        let table = |text: &str| text.split("\n\n").next().map(|table| table.lines().count());
        for width in [80, 119] {
            let narrow = list(&store, Terminal { is_terminal: true, width, colour: false });
            assert_eq!(table(&narrow), Some(assets + 1), "{narrow}");
        }
        let piped = list(&store, Terminal { is_terminal: false, width: 80, colour: false });
        assert_eq!(table(&piped), Some(assets + 1), "{piped}");
        let silero = piped.lines().find(|line| line.starts_with(" silero-vad ")).unwrap();
        assert!(
            ["6.2.3", "2.33 MB", "no", "MIT", "16 kHz"].iter().all(|part| silero.contains(part)),
            "{silero}"
        );
    }
}
