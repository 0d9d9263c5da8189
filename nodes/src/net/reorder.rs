//! RTP packets in the order of their sequence numbers, as soon as that order is known.
//!
//! A packet in order passes at once. After a gap, packets are held for the playout wait; what has not come by then is
//! lost, and what comes later still is late, not lost. A sequence or source that jumps is believed when a second
//! packet follows the first ([RFC 3550, appendix A.1]), so that no stray datagram disturbs a stream.
//!
//! [RFC 3550, appendix A.1]: https://www.rfc-editor.org/rfc/rfc3550#appendix-A.1

use std::collections::VecDeque;

use graph_core::{Nanos, Stamp};

use super::rtp::{Header, Ssrc, Timestamp};

/// The packet furthest behind the next one that is remembered, to tell a late packet from a repeated one.
const OLDEST: i64 = -(u128::BITS as i64);

/// A sequence number this far ahead is no loss but another sequence: one minute of 20 ms packets.
const MAX_DROPOUT: i64 = 3_000;

/// A run of packets put in order, with what is known of those that are not in it.
#[derive(Debug)]
pub struct Reorder<T> {
    wait: Nanos,
    window: usize,
    source: Option<Source>,
    /// In order, behind a gap.
    waiting: VecDeque<Waiting<T>>,
    ready: VecDeque<Ordered<T>>,
    /// The first packet of what may be another sequence or source.
    candidate: Option<Incoming<T>>,
    counts: Counts,
}

/// What became of the packets. `received = delivered + duplicate + late + stray`, and what is still held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets given in.
    pub received: u64,
    /// Packets given out.
    pub delivered: u64,
    /// Packets that never came. One that comes after all is taken off again.
    pub lost: u64,
    /// Came after the wait for them was over.
    pub late: u64,
    /// Came again.
    pub duplicate: u64,
    /// Came behind a later one, but in time.
    pub reordered: u64,
    /// Belonged to no stream: a lone packet of another source or far from the sequence.
    pub stray: u64,
    /// Times that another source or sequence took over.
    pub restarts: u64,
}

/// A packet in its place.
#[derive(Debug, PartialEq)]
pub struct Ordered<T> {
    /// What was given in.
    pub item: T,
    /// Its header.
    pub header: Header,
    /// How long it was held for packets before it.
    pub held: Nanos,
    /// Packets missing right before it.
    pub lost: u32,
    /// Ticks between the end of the packet before and this one: silence where nothing is lost. `None` at the start of
    /// a stream.
    pub gap: Option<i64>,
}

#[derive(Debug)]
struct Source {
    ssrc: Ssrc,
    /// The extended sequence number it began with.
    first: i64,
    /// The one to deliver next.
    next: i64,
    /// Bit `n`: the packet `n + 1` before `next` has come.
    came: u128,
    /// The highest that has come.
    highest: i64,
    /// Where the last packet delivered ends, in extended ticks.
    end: Option<i64>,
}

#[derive(Debug)]
struct Incoming<T> {
    header: Header,
    ticks: u32,
    arrived: Stamp,
    item: T,
}

#[derive(Debug)]
struct Waiting<T> {
    sequence: i64,
    packet: Incoming<T>,
}

impl<T> Reorder<T> {
    /// Holds packets behind a gap for at most `wait`, and at most `window` of them.
    pub fn new(wait: Nanos, window: usize) -> Self {
        Reorder {
            wait,
            window,
            source: None,
            waiting: VecDeque::with_capacity(window + 1),
            ready: VecDeque::with_capacity(window + 2),
            candidate: None,
            counts: Counts::default(),
        }
    }

    /// What became of the packets so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The source that is being heard.
    pub fn source(&self) -> Option<Ssrc> {
        self.source.as_ref().map(|source| source.ssrc)
    }

    /// Takes a packet that lasts `ticks` of its media clock.
    pub fn push(&mut self, now: Stamp, header: Header, ticks: u32, item: T) {
        self.counts.received += 1;
        let packet = Incoming { header, ticks, arrived: now, item };
        match &self.source {
            None => self.restart(now, packet),
            Some(source) if source.ssrc == packet.header.ssrc => {
                let sequence = packet.header.sequence.extend(source.highest);
                match sequence - source.next {
                    0..MAX_DROPOUT => self.accept(now, sequence, packet),
                    OLDEST..0 => self.count_behind(sequence),
                    _ => self.doubt(now, packet),
                }
            }
            Some(_) => self.doubt(now, packet),
        }
    }

    /// The next packet that can be given out, in order; call until `None` after each push and at each deadline.
    pub fn pop(&mut self, now: Stamp) -> Option<Ordered<T>> {
        if self.ready.is_empty() && self.deadline().is_some_and(|deadline| deadline <= now) {
            self.skip_gap(now);
        }
        self.ready.pop_front()
    }

    /// Gives up every gap: nothing more will come.
    pub fn flush(&mut self, now: Stamp) {
        while !self.waiting.is_empty() {
            self.skip_gap(now);
        }
    }

    /// Whether no packet of the stream is held.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty()
    }

    /// When a gap is given up, unless its packets come before.
    pub fn deadline(&self) -> Option<Stamp> {
        self.waiting.iter().map(|waiting| waiting.packet.arrived + self.wait).min()
    }

    fn accept(&mut self, now: Stamp, sequence: i64, packet: Incoming<T>) {
        self.drop_candidate();
        let source = self.source.as_mut().expect("a source accepts");
        if sequence < source.highest {
            self.counts.reordered += 1;
        }
        source.highest = source.highest.max(sequence);
        match self.waiting.binary_search_by_key(&sequence, |waiting| waiting.sequence) {
            Ok(_) => {
                self.counts.duplicate += 1;
                return;
            }
            Err(at) => self.waiting.insert(at, Waiting { sequence, packet }),
        }
        self.deliver_run(now);
        if self.waiting.len() > self.window {
            self.skip_gap(now);
        }
    }

    fn count_behind(&mut self, sequence: i64) {
        self.drop_candidate();
        let source = self.source.as_mut().expect("a source is behind itself");
        let bit = 1 << (source.next - sequence - 1);
        if source.came & bit != 0 {
            self.counts.duplicate += 1;
            return;
        }
        source.came |= bit;
        self.counts.late += 1;
        self.counts.lost -= u64::from(sequence > source.first);
    }

    /// A packet from nowhere: kept, and believed when its successor comes before any packet of the stream.
    fn doubt(&mut self, now: Stamp, packet: Incoming<T>) {
        let follows = self.candidate.as_ref().is_some_and(|first| {
            first.header.ssrc == packet.header.ssrc && first.header.sequence.next() == packet.header.sequence
        });
        match self.candidate.take() {
            Some(first) if follows => {
                self.counts.restarts += 1;
                self.flush(now);
                self.restart(now, first);
                let sequence = packet.header.sequence.extend(self.source.as_ref().map_or(0, |s| s.highest));
                self.accept(now, sequence, packet);
            }
            before => {
                self.counts.stray += u64::from(before.is_some());
                self.candidate = Some(packet);
            }
        }
    }

    fn drop_candidate(&mut self) {
        self.counts.stray += u64::from(self.candidate.take().is_some());
    }

    fn restart(&mut self, now: Stamp, packet: Incoming<T>) {
        let next = i64::from(packet.header.sequence.0);
        self.source =
            Some(Source { ssrc: packet.header.ssrc, first: next, next, came: 0, highest: next, end: None });
        self.accept(now, next, packet);
    }

    /// Gives up the packets before the first one that waits.
    fn skip_gap(&mut self, now: Stamp) {
        let (Some(first), Some(source)) = (self.waiting.front(), &mut self.source) else { return };
        let lost = first.sequence - source.next;
        source.next = first.sequence;
        source.came = source.came.checked_shl(lost as u32).unwrap_or(0);
        self.counts.lost += lost as u64;
        self.deliver(now, lost as u32);
        self.deliver_run(now);
    }

    fn deliver_run(&mut self, now: Stamp) {
        while self.waiting.front().map(|w| w.sequence) == self.source.as_ref().map(|s| s.next) {
            self.deliver(now, 0);
        }
    }

    /// Moves the first waiting packet, which is the next of the sequence, to the ready ones.
    fn deliver(&mut self, now: Stamp, lost: u32) {
        let (Some(Waiting { packet, .. }), Some(source)) = (self.waiting.pop_front(), &mut self.source)
        else {
            return;
        };
        let Incoming { header, ticks, arrived, item } = packet;
        let start = header.timestamp.extend(source.end.unwrap_or(0));
        let gap = source.end.map(|end| start - end);
        source.end = Some(start + i64::from(ticks));
        source.next += 1;
        source.came = source.came << 1 | 1;
        self.counts.delivered += 1;
        let held = now.since(arrived).unwrap_or(Nanos::ZERO);
        self.ready.push_back(Ordered { item, header, held, lost, gap });
    }
}

/// How unevenly packets arrive: the mean deviation of the spacing, smoothed ([RFC 3550, section 6.4.1]).
///
/// [RFC 3550, section 6.4.1]: https://www.rfc-editor.org/rfc/rfc3550#section-6.4.1
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    last: Option<(Ssrc, Stamp, Timestamp)>,
    nanos: f64,
}

impl Jitter {
    /// Takes a packet in the order of arrival; `rate` is the ticks a second of its timestamps.
    pub fn update(&mut self, arrived: Stamp, header: &Header, rate: u32) {
        if let Some((ssrc, stamp, timestamp)) = self.last
            && ssrc == header.ssrc
        {
            let passed = arrived.0 as f64 - stamp.0 as f64;
            let ticks = header.timestamp.0.wrapping_sub(timestamp.0) as i32;
            let deviation = (passed - f64::from(ticks) * 1e9 / f64::from(rate)).abs();
            self.nanos += (deviation - self.nanos) / 16.0;
        }
        self.last = Some((header.ssrc, arrived, header.timestamp));
    }

    /// The estimate now.
    pub fn get(&self) -> Nanos {
        Nanos(self.nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::net::rtp::SequenceNumber;

    const WAIT: Nanos = Nanos::from_millis(20);
    const TICKS: u32 = 480;

    fn at(millis: u64) -> Stamp {
        Stamp(1_000_000_000) + Nanos::from_millis(millis)
    }

    fn header(ssrc: u32, sequence: i64) -> Header {
        Header {
            ssrc: Ssrc(ssrc),
            sequence: SequenceNumber(sequence as u16),
            timestamp: Timestamp((sequence * i64::from(TICKS)) as u32),
            ..Header::default()
        }
    }

    /// One reorder buffer, the time, and what came out as (item, lost before it, held).
    struct Bench {
        reorder: Reorder<i64>,
        out: Vec<(i64, u32, u64)>,
    }

    impl Bench {
        fn new() -> Self {
            Bench { reorder: Reorder::new(WAIT, 8), out: Vec::new() }
        }

        fn push_from(&mut self, ssrc: u32, millis: u64, sequence: i64) -> &mut Self {
            self.reorder.push(at(millis), header(ssrc, sequence), TICKS, sequence);
            self.poll(millis)
        }

        fn push(&mut self, millis: u64, sequence: i64) -> &mut Self {
            self.push_from(1, millis, sequence)
        }

        fn poll(&mut self, millis: u64) -> &mut Self {
            while let Some(packet) = self.reorder.pop(at(millis)) {
                self.out.push((packet.item, packet.lost, packet.held.0 / 1_000_000));
            }
            self
        }

        fn items(&self) -> Vec<i64> {
            self.out.iter().map(|&(item, ..)| item).collect()
        }
    }

    #[test]
    fn packets_in_order_pass_at_once_across_the_wrap() {
        let mut bench = Bench::new();
        for (n, sequence) in (65_530..65_545).enumerate() {
            bench.push(10 * n as u64, sequence);
        }
        assert_eq!(bench.items(), (65_530..65_545).collect::<Vec<_>>());
        assert!(bench.out.iter().all(|&(_, lost, held)| (lost, held) == (0, 0)));
        assert_eq!(bench.reorder.counts(), Counts { received: 15, delivered: 15, ..Counts::default() });
    }

    #[test]
    fn a_swapped_pair_is_put_right_and_the_wait_is_declared() {
        let mut bench = Bench::new();
        bench.push(0, 65_535).push(10, 65_537).push(13, 65_536);
        assert_eq!(bench.out, [(65_535, 0, 0), (65_536, 0, 0), (65_537, 0, 3)]);
        assert_eq!(bench.reorder.counts().reordered, 1);
        assert_eq!(bench.reorder.counts().lost, 0);
        assert_eq!(bench.reorder.deadline(), None);
    }

    #[test]
    fn a_gap_is_given_up_after_the_wait_and_not_before() {
        let mut bench = Bench::new();
        bench.push(0, 1).push(20, 3).push(30, 4).poll(39);
        assert_eq!(bench.items(), [1]);
        assert_eq!(bench.reorder.deadline(), Some(at(40)));
        bench.poll(40);
        assert_eq!(bench.out, [(1, 0, 0), (3, 1, 20), (4, 0, 10)]);
        assert_eq!(bench.reorder.counts().lost, 1);
    }

    #[test]
    fn a_late_packet_across_the_wrap_is_late_and_nothing_is_lost() {
        let mut bench = Bench::new();
        bench.push(0, 65_534).push(10, 65_536).poll(30).push(31, 65_535);
        assert_eq!(bench.items(), [65_534, 65_536]);
        let counts = bench.reorder.counts();
        assert_eq!((counts.late, counts.lost, counts.duplicate), (1, 0, 0));
    }

    #[test]
    fn a_repeated_packet_is_a_duplicate_whether_delivered_waiting_or_late() {
        let mut bench = Bench::new();
        bench.push(0, 1).push(0, 1).push(0, 3).push(0, 3).poll(20).push(21, 2).push(21, 2);
        assert_eq!(bench.items(), [1, 3]);
        let counts = bench.reorder.counts();
        assert_eq!((counts.duplicate, counts.late, counts.lost), (3, 1, 0));
    }

    #[test]
    fn a_packet_from_before_the_first_is_late_and_was_never_lost() {
        let mut bench = Bench::new();
        bench.push(0, 5).push(0, 7).poll(20).push(21, 4);
        let counts = bench.reorder.counts();
        assert_eq!((counts.late, counts.lost), (1, 1));
    }

    #[test]
    fn a_full_window_does_not_wait() {
        let mut bench = Bench::new();
        bench.push(0, 0);
        for sequence in 2..=10 {
            bench.push(1, sequence);
        }
        assert_eq!(bench.items(), [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(bench.reorder.counts().lost, 1);
    }

    #[test]
    fn two_gaps_are_given_up_each_at_its_own_time() {
        let mut bench = Bench::new();
        bench.push(0, 1).push(10, 3).push(25, 5).poll(30);
        assert_eq!(bench.out, [(1, 0, 0), (3, 1, 20)]);
        bench.poll(45);
        assert_eq!(bench.out[2], (5, 1, 20));
    }

    #[test]
    fn another_source_takes_over_with_its_second_packet_and_loses_none() {
        let mut bench = Bench::new();
        bench.push(0, 1).push_from(2, 10, 700);
        assert_eq!(bench.items(), [1]);
        bench.push_from(2, 20, 701);
        assert_eq!(bench.out, [(1, 0, 0), (700, 0, 10), (701, 0, 0)]);
        assert_eq!(bench.reorder.source(), Some(Ssrc(2)));
        let counts = bench.reorder.counts();
        assert_eq!((counts.restarts, counts.stray, counts.lost), (1, 0, 0));
    }

    #[test]
    fn a_takeover_gives_out_what_was_waiting() {
        let mut bench = Bench::new();
        bench.push(0, 1).push(10, 3).push_from(2, 11, 7).push_from(2, 12, 8);
        assert_eq!(bench.items(), [1, 3, 7, 8]);
    }

    #[test]
    fn a_second_sender_does_not_disturb_the_first() {
        let mut bench = Bench::new();
        for n in 0..50 {
            bench.push(10 * n, n as i64).push_from(2, 10 * n + 5, n as i64);
        }
        assert_eq!(bench.items(), (0..50).collect::<Vec<_>>());
        assert_eq!(bench.reorder.counts().restarts, 0);
        assert_eq!(bench.reorder.counts().stray, 49, "and the last one is still doubted");
    }

    #[test]
    fn a_sequence_that_jumps_is_followed_with_its_second_packet() {
        let mut bench = Bench::new();
        bench.push(0, 1).push(10, 30_000).push(20, 2).push(30, 40_000).push(40, 40_001);
        assert_eq!(bench.items(), [1, 2, 40_000, 40_001]);
        let counts = bench.reorder.counts();
        assert_eq!((counts.stray, counts.restarts, counts.lost), (1, 1, 0));
    }

    #[test]
    fn the_timestamps_tell_a_silence_from_a_loss() {
        let mut reorder = Reorder::new(WAIT, 8);
        let mut push = |sequence, timestamp| {
            let timestamp = Timestamp(timestamp);
            reorder.push(at(0), Header { timestamp, ..header(1, sequence) }, TICKS, ());
            reorder.pop(at(0)).map(|packet| (packet.lost, packet.gap))
        };
        assert_eq!(push(0, u32::MAX - 479), Some((0, None)));
        assert_eq!(push(1, 0), Some((0, Some(0))), "the timestamp wraps");
        assert_eq!(push(2, 480 + 4_800), Some((0, Some(4_800))));
        assert_eq!(push(4, 480 + 4_800 + 960), None);
        assert_eq!(reorder.pop(at(20)).map(|packet| (packet.lost, packet.gap)), Some((1, Some(480))));
    }

    #[test]
    fn jitter_is_nothing_on_an_even_stream_and_grows_as_the_rfc_says() {
        let mut jitter = Jitter::default();
        for n in 0..100 {
            jitter.update(at(10 * n), &header(1, 65_500 + n as i64), 48_000);
        }
        assert_eq!(jitter.get(), Nanos::ZERO);
        jitter.update(at(1_016), &header(1, 65_600), 48_000);
        assert_eq!(jitter.get(), Nanos::from_millis(1), "16 ms / 16");
        jitter.update(at(5), &header(2, 9), 48_000);
        assert_eq!(jitter.get(), Nanos::from_millis(1), "another source says nothing about this one");
    }

    proptest! {
        #[test]
        fn whatever_arrives_the_order_is_kept_and_every_packet_is_accounted_for(
            packets in prop::collection::vec((0..40_u64, 1..3_u32, prop_oneof![65_500..65_600_i64, any::<u16>().prop_map(i64::from)]), 0..200),
        ) {
            let mut bench = Bench::new();
            let mut now = 0;
            for (step, ssrc, sequence) in packets {
                now += step;
                bench.poll(now).push_from(ssrc, now, sequence);
                prop_assert!(bench.reorder.waiting.len() <= 8);
            }
            let counts = bench.reorder.counts();
            let left = bench.reorder.waiting.len() + usize::from(bench.reorder.candidate.is_some());
            prop_assert_eq!(
                counts.received,
                counts.delivered + counts.duplicate + counts.late + counts.stray + left as u64
            );
            prop_assert_eq!(counts.delivered as usize, bench.out.len());
        }

        #[test]
        fn loss_reordering_and_repetition_within_the_wait_leave_a_rising_sequence(
            fates in prop::collection::vec((0..25_u64, any::<bool>(), 0..10_u8), 30..120),
        ) {
            let mut arrivals: Vec<(u64, i64)> = Vec::new();
            let (mut dropped, first) = (0, 65_500_i64);
            for (n, &(delay, twice, fate)) in fates.iter().enumerate() {
                let (sent, sequence) = (10 * n as u64, first + n as i64);
                if fate == 0 && n > 0 && n + 1 < fates.len() {
                    dropped += 1;
                    continue;
                }
                let ends = n == 0 || n + 1 == fates.len();
                arrivals.push((sent + if ends { 0 } else { delay }, sequence));
                if twice {
                    arrivals.push((sent + 25, sequence));
                }
            }
            arrivals.sort_by_key(|&(time, _)| time);
            let mut bench = Bench { reorder: Reorder::new(Nanos::from_millis(30), 16), out: Vec::new() };
            for (time, sequence) in arrivals {
                bench.poll(time).push(time, sequence);
            }
            bench.poll(100_000);
            prop_assert!(bench.items().is_sorted_by(|a, b| a < b));
            let counts = bench.reorder.counts();
            prop_assert_eq!(counts.lost, dropped);
            prop_assert_eq!(counts.late, 0);
            prop_assert_eq!(counts.delivered + dropped, fates.len() as u64);
        }
    }
}
