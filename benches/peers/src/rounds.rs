//! Rounds: every peer once, then every peer again, so that what else the machine does meets all of them alike.

use std::time::Duration;

use serde::Serialize;

use crate::{
    clock::{Clock, nanos},
    figures::{Spread, quantile},
    packet::Payload,
    peer::{Chain, Failure, Peer},
    probe::{self, Mode, Run, Seen},
};

/// What a peer takes to be warm, and to show how long a packet takes.
const PILOT: u64 = 256;
/// However slow a chain is, and however fast.
const PACKETS: std::ops::RangeInclusive<u64> = 64..=2_000_000;
/// Samples of one run: more would show no more.
const SAMPLES: u64 = 1_000_000;
/// Of the packets with stamps, one in so many is not timed at first.
const WARM_UP: u64 = 10;

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Effort {
    /// How often each figure is taken.
    pub rounds: usize,
    /// About how long each run goes on.
    #[serde(skip)]
    pub time: Duration,
}

/// One peer with one chain.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The peer.
    pub peer: &'static str,
    /// Its version.
    pub version: String,
    /// How it is set up, in words.
    pub configuration: String,
    /// Nodes between source and sink.
    pub stages: usize,
    /// What CPU time is divided by, a packet.
    pub hops: usize,
    /// Threads that packets cross.
    pub threads: usize,
    /// What travels.
    pub payload: Payload,
    /// Packets of one run with the chain full.
    pub packets: u64,
    /// CPU time of the whole process with the chain full, by packets and hops.
    pub cpu_ns_per_hop: Option<Spread>,
    /// A hop with one packet in flight.
    pub hop_p50_ns: Option<Spread>,
    /// A hop with one packet in flight.
    pub hop_p99_ns: Option<Spread>,
    /// The whole chain with one packet in flight, stamped at its ends only.
    pub e2e_p50_ns: Option<Spread>,
    /// Hops whose end was stamped earlier than their start; not counted in the quantiles.
    pub negative: u64,
}

/// A peer that did not run.
#[derive(Clone, Debug, Serialize)]
pub struct Broken {
    /// The peer.
    pub peer: &'static str,
    /// Nodes between source and sink.
    pub stages: usize,
    /// What was to travel.
    pub payload: Payload,
    /// Why.
    pub error: String,
}

/// A row while its rounds go on.
struct Contest<'a> {
    /// Its place among the peers.
    at: usize,
    peer: &'a dyn Peer,
    row: Row,
    clock: Clock,
    single: u64,
    cpu: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    e2e: Vec<f64>,
}

/// Measures all peers with one chain.
pub fn contest(peers: &[Box<dyn Peer>], chain: Chain, effort: Effort) -> (Vec<Row>, Vec<Broken>) {
    let (mut running, mut broken) = (Vec::new(), Vec::new());
    let mut fails = |peer: &dyn Peer, error: Failure| {
        let Chain { stages, payload } = chain;
        broken.push(Broken { peer: peer.name(), stages, payload, error: error.to_string() });
    };
    for (at, peer) in peers.iter().enumerate() {
        match Contest::new(at, &**peer, chain, effort) {
            Some(Ok(contest)) => running.push(contest),
            Some(Err(error)) => fails(&**peer, error),
            None => {}
        }
    }
    for round in 0..effort.rounds {
        // Nobody always follows the same neighbour.
        if !running.is_empty() {
            let first = round % running.len();
            running.rotate_left(first);
        }
        running.retain_mut(|contest| match contest.round(chain) {
            Ok(()) => true,
            Err(error) => {
                fails(contest.peer, error);
                false
            }
        });
    }
    running.sort_by_key(|contest| contest.at);
    (running.into_iter().map(Contest::row).collect(), broken)
}

impl<'a> Contest<'a> {
    /// Runs pilots that say how many packets fill the time; `None` where the peer does not run such a chain.
    fn new(
        at: usize,
        peer: &'a dyn Peer,
        chain: Chain,
        effort: Effort,
    ) -> Option<Result<Contest<'a>, Failure>> {
        let setup = peer.setup(chain)?;
        let row = Row {
            peer: peer.name(),
            version: peer.version(),
            configuration: setup.words,
            stages: chain.stages,
            hops: chain.hops(),
            threads: setup.threads,
            payload: chain.payload,
            packets: PILOT,
            cpu_ns_per_hop: None,
            hop_p50_ns: None,
            hop_p99_ns: None,
            e2e_p50_ns: None,
            negative: 0,
        };
        // Readings within one thread need no order, and a cheaper one disturbs less.
        let clock = if row.threads == 1 { Clock::Plain } else { Clock::Ordered };
        let rounds = || Vec::with_capacity(effort.rounds);
        let mut contest = Contest {
            at,
            peer,
            row,
            clock,
            single: PILOT,
            cpu: rounds(),
            p50: rounds(),
            p99: rounds(),
            e2e: rounds(),
        };
        Some(contest.pilot(chain, effort.time).map(|()| contest))
    }

    fn pilot(&mut self, chain: Chain, time: Duration) -> Result<(), Failure> {
        let time = time.as_nanos() as f64;
        // Twice: the first one is cold.
        for _ in 0..2 {
            let seen = self.run(chain, Mode::Flood, self.row.packets)?;
            let packet = (seen.cpu.as_nanos() as f64 / self.row.packets as f64).max(1.0);
            self.row.packets = ((time / packet) as u64).clamp(*PACKETS.start(), *PACKETS.end());
        }
        // With the way back to the source, which some peers spend more on than on the chain.
        let seen = self.run(chain, Mode::Chain, PILOT)?;
        let packet = (seen.elapsed.as_nanos() as f64 / PILOT as f64).max(1.0);
        let most = SAMPLES / chain.hops() as u64;
        self.single = ((time / packet) as u64).clamp(*PACKETS.start(), most);
        Ok(())
    }

    fn run(&self, chain: Chain, mode: Mode, packets: u64) -> Result<Seen, Failure> {
        let warm_up = if mode == Mode::Flood { 0 } else { packets / WARM_UP };
        probe::begin(Run { mode, packets, warm_up, clock: self.clock });
        self.peer.run(chain)?;
        Ok(probe::end()?)
    }

    fn round(&mut self, chain: Chain) -> Result<(), Failure> {
        let seen = self.run(chain, Mode::Flood, self.row.packets)?;
        let hops = self.row.packets as f64 * chain.hops() as f64;
        self.cpu.push(seen.cpu.as_nanos() as f64 / hops);

        let mut seen = self.run(chain, Mode::Hops, self.single)?;
        self.row.negative += seen.negative;
        let of = |seen: &mut Seen, at| quantile(&mut seen.times, at).map(|ticks| nanos(ticks as f64));
        self.p50.extend(of(&mut seen, 0.5));
        self.p99.extend(of(&mut seen, 0.99));

        let mut seen = self.run(chain, Mode::Chain, self.single)?;
        self.row.negative += seen.negative;
        self.e2e.extend(of(&mut seen, 0.5));
        Ok(())
    }

    fn row(self) -> Row {
        Row {
            cpu_ns_per_hop: Spread::of(self.cpu),
            hop_p50_ns: Spread::of(self.p50),
            hop_p99_ns: Spread::of(self.p99),
            e2e_p50_ns: Spread::of(self.e2e),
            ..self.row
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{direct::Direct, peer::Setup, vecdeque::Deques};

    const EFFORT: Effort = Effort { rounds: 2, time: Duration::from_millis(1) };
    const CHAIN: Chain = Chain { stages: 4, payload: Payload::Small };

    #[test]
    fn every_peer_gets_every_figure_in_the_order_that_was_asked_for() {
        let peers: [Box<dyn Peer>; 2] = [Box::new(Deques), Box::new(Direct)];
        let (rows, broken) = one_at_a_time(|| contest(&peers, CHAIN, EFFORT));
        assert!(broken.is_empty(), "{broken:?}");
        assert_eq!(rows.iter().map(|row| row.peer).collect::<Vec<_>>(), ["vecdeque", "dyn"]);
        for row in rows {
            assert_eq!((row.hops, row.negative), (5, 0));
            assert!(row.cpu_ns_per_hop.unwrap().min > 0.0, "{row:?}");
            assert!(row.hop_p50_ns.unwrap().max <= row.hop_p99_ns.unwrap().max, "{row:?}");
            assert!(row.e2e_p50_ns.unwrap().min > 0.0, "{row:?}");
        }
    }

    /// Loses one packet of each run.
    struct Leaky;

    impl Peer for Leaky {
        fn name(&self) -> &'static str {
            "leaky"
        }

        fn version(&self) -> String {
            "-".into()
        }

        fn setup(&self, _: Chain) -> Option<Setup> {
            Some(Setup { words: "loses packets".into(), threads: 1 })
        }

        fn run(&self, _: Chain) -> Result<(), Failure> {
            let (mut feed, mut sink) =
                (probe::Feed::<crate::packet::Small>::default(), probe::Sink::default());
            while let Some(packet) = feed.next() {
                let head = crate::packet::Load::head(&mut packet.clone()).seq;
                if head != 3 {
                    sink.take(packet);
                }
            }
            Ok(())
        }
    }

    #[test]
    fn a_peer_that_loses_a_packet_has_no_figures() {
        let (rows, broken) = one_at_a_time(|| contest(&[Box::new(Leaky) as Box<dyn Peer>], CHAIN, EFFORT));
        assert!(rows.is_empty());
        assert!(broken[0].error.contains("255 of 256 packets arrived, 252 out of order"), "{broken:?}");
    }

    /// There is one probe in the process.
    fn one_at_a_time<T>(run: impl FnOnce() -> T) -> T {
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap();
        run()
    }
}
