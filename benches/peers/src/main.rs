//! This runtime side by side with others, in one run: see the README beside this crate.

mod clock;
mod copper;
mod cpus;
mod crossbeam;
mod direct;
mod figures;
mod floors;
mod futuresdr;
#[cfg(feature = "gstreamer")]
mod gst;
mod ours;
mod packet;
mod peer;
mod probe;
mod queues;
mod report;
mod rounds;
mod rtrb;
mod tokio;
mod vecdeque;
mod wakes;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use graph_core::report::Machine;

use crate::{
    copper::Copper,
    crossbeam::Crossbeam,
    direct::Direct,
    futuresdr::{By, FutureSdr},
    ours::Ours,
    packet::Payload,
    peer::{Chain, Failure, Peer},
    report::Report,
    rounds::{Effort, contest},
    rtrb::Rtrb,
    tokio::Tokio,
    vecdeque::Deques,
};

/// Measures this runtime and others side by side, in one run.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    chains: Chains,
    #[command(flatten)]
    how: How,
}

#[derive(Subcommand)]
enum Command {
    /// What the machine itself costs: clocks, wakes, a bare ring, a sleep
    Floors {
        #[command(flatten)]
        how: How,
    },
    /// The peers of this build
    List,
}

#[derive(Args)]
struct Chains {
    /// Peers, by name or its beginning (`list` shows them); all of them by default
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Stages between source and sink: 1, 4, 10 or 100
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 10, 100], value_parser = stages)]
    stages: Vec<usize>,
    /// What travels
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Payload::Small, Payload::Large])]
    payloads: Vec<Payload>,
    /// Only peers on one thread, or on several
    #[arg(long, value_enum)]
    threads: Option<Threads>,
}

#[derive(Args)]
struct How {
    /// How often each figure is taken, the peers in turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// About how long one run goes on, in milliseconds
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    millis: u16,
    /// Two short rounds, to see that everything runs: its figures mean little
    #[arg(long, conflicts_with_all = ["rounds", "millis"])]
    quick: bool,
    /// Write the figures to a file as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Threads {
    One,
    Several,
}

fn stages(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(stages @ (1 | 4 | 10 | 100)) => Ok(stages),
        _ => Err("1, 4, 10 or 100: copper's graphs are compiled in".into()),
    }
}

impl How {
    fn effort(&self) -> Effort {
        let (rounds, millis) = if self.quick { (2, 2) } else { (self.rounds, self.millis) };
        Effort { rounds: rounds.into(), time: Duration::from_millis(millis.into()) }
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("graph-peers: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let machine = Machine::read();
    // Compares the clocks before anything is measured.
    let _ = clock::nanos(0.0);
    match &cli.command {
        None => compare(&cli.chains, &cli.how, machine),
        Some(Command::List) => {
            let mut names: Vec<_> = all().iter().map(|peer| (peer.name(), peer.version())).collect();
            names.dedup();
            names.iter().for_each(|(name, version)| println!("{name} {version}"));
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Floors { how }) => {
            let floors = floors::floors(how.effort(), how.quick)?;
            let mut report = Report::new(machine, how.effort());
            report.floors = &floors;
            println!("{}\n\n{}", report.provenance(), report::floors(&floors));
            if let Some(path) = &how.json {
                report.write(path)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn compare(chains: &Chains, how: &How, machine: Machine) -> Result<ExitCode, Failure> {
    let peers = chosen(chains)?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for &payload in &chains.payloads {
        for &stages in &chains.stages {
            eprintln!("graph-peers: {stages} stages, {}", payload.words());
            let chain = Chain { stages, payload };
            let (new, broken) = contest(&peers, chain, how.effort());
            rows.extend(new);
            failures.extend(broken);
        }
    }
    let mut report = Report::new(machine, how.effort());
    (report.rows, report.failures) = (&rows, &failures);
    println!("{}\n{}", report.provenance(), report::peers(&rows));
    if let Some(path) = &how.json {
        report.write(path)?;
    }
    eprint!("{}", report::failures(&failures));
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every peer of this build, in the order of the table.
fn all() -> Vec<Box<dyn Peer>> {
    let mut peers: Vec<Box<dyn Peer>> = vec![
        Box::new(Ours { lanes: 1 }),
        Box::new(Direct),
        Box::new(Deques),
        Box::new(Rtrb { threads: 1 }),
        Box::new(Crossbeam { threads: 1 }),
        Box::new(Tokio { threads: 1 }),
        Box::new(Copper { log: false }),
        Box::new(Copper { log: true }),
        Box::new(FutureSdr { by: By::Message, threads: 1 }),
        Box::new(FutureSdr { by: By::Stream, threads: 1 }),
    ];
    #[cfg(feature = "gstreamer")]
    peers.push(Box::new(gst::Gst { queues: false }));
    let several: [Box<dyn Peer>; 6] = [
        Box::new(Ours { lanes: 2 }),
        Box::new(Rtrb { threads: 2 }),
        Box::new(Crossbeam { threads: 2 }),
        Box::new(Tokio { threads: 2 }),
        Box::new(FutureSdr { by: By::Message, threads: 2 }),
        Box::new(FutureSdr { by: By::Stream, threads: 2 }),
    ];
    peers.extend(several);
    #[cfg(feature = "gstreamer")]
    peers.push(Box::new(gst::Gst { queues: true }));
    peers
}

fn chosen(chains: &Chains) -> Result<Vec<Box<dyn Peer>>, Failure> {
    const WITHOUT: &str = "built without GStreamer, so without its rows: install pkg-config and libgstreamer1.0-dev, and build with \
                           `--features gstreamer` (tools/peers does both)";
    let mut peers = all();
    if !cfg!(feature = "gstreamer") && chains.peers.is_empty() {
        eprintln!("graph-peers: {WITHOUT}");
    }
    for asked in &chains.peers {
        if !peers.iter().any(|peer| peer.name().starts_with(asked.as_str())) {
            return Err(if asked.starts_with("gst") && !cfg!(feature = "gstreamer") {
                WITHOUT.into()
            } else {
                format!("no peer is called {asked}: `graph-peers list` shows them").into()
            });
        }
    }
    let one = Chain { stages: 1, payload: Payload::Small };
    let threads = |peer: &dyn Peer| match peer.setup(one) {
        Some(setup) if setup.threads > 1 => Threads::Several,
        _ => Threads::One,
    };
    peers.retain(|peer| {
        let asked = chains.peers.is_empty()
            || chains.peers.iter().any(|asked| peer.name().starts_with(asked.as_str()));
        asked && chains.threads.is_none_or(|wanted| wanted == threads(&**peer))
    });
    if peers.is_empty() {
        return Err("no peer is left with --peers and --threads".into());
    }
    Ok(peers)
}
