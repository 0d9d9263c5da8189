//! When each frame of an answer leaves, without a socket and without a clock.
//!
//! Speech comes in bursts, faster than it is heard. The first frame of a spurt leaves at once, the others by absolute
//! deadlines, a small lead before they are due, so that a late one delays none after it. Speech wins over a tone.

use std::{collections::VecDeque, sync::Arc};

use graph_core::{Nanos, Stamp};

use super::packetize::Packetizer;
use crate::types::Rate;

/// A tone that speech breaks off goes out over this much.
const TONE_FADE: Nanos = Nanos::from_millis(5);

/// A frame that leaves now.
#[derive(Debug, PartialEq)]
pub struct Outgoing<'a, Tag> {
    /// The RTP packet.
    pub datagram: &'a [u8],
    /// What a `wire` edge knows it by.
    pub key: u64,
    /// The tag of the sound that the frame begins with.
    pub tag: Tag,
    /// How long that sound was held, to be paced or to fill the frame.
    pub held: Nanos,
}

/// Paces sound into packets.
pub struct Playout<Tag> {
    packets: Packetizer,
    rate: Rate,
    lead: Nanos,
    speech: Track<Tag>,
    tone: Track<Tag>,
    /// The talk spurt being played.
    spurt: Option<Spurt>,
    /// When the last spurt's sound ends, as it is heard.
    ended: Option<Stamp>,
    frame: Vec<f32>,
    /// No more sound will come, so the last frame need not wait for any.
    finished: bool,
    behind: u64,
}

#[derive(Clone, Copy)]
struct Spurt {
    began: Stamp,
    frames: u64,
}

/// Sound to be played, as it came.
struct Track<Tag> {
    pieces: VecDeque<Piece<Tag>>,
    samples: usize,
}

struct Piece<Tag> {
    sound: Arc<[f32]>,
    played: usize,
    came: Stamp,
    tag: Tag,
}

impl<Tag: Copy> Track<Tag> {
    fn push(&mut self, came: Stamp, sound: Arc<[f32]>, tag: Tag) {
        if !sound.is_empty() {
            self.samples += sound.len();
            self.pieces.push_back(Piece { sound, played: 0, came, tag });
        }
    }

    /// Drops pieces. Returns whether there were any to drop.
    fn drop_pieces(&mut self, gone: impl Fn(&Tag) -> bool) -> bool {
        if !self.pieces.iter().any(|piece| gone(&piece.tag)) {
            return false;
        }
        self.pieces.retain(|piece| !gone(&piece.tag));
        self.samples = self.pieces.iter().map(|piece| piece.sound.len() - piece.played).sum();
        true
    }

    /// Moves at most `count` samples to `out`; says whose the first one is, and when the last one came.
    fn take(&mut self, count: usize, out: &mut Vec<f32>) -> Option<(Tag, Stamp, Stamp)> {
        let first = self.pieces.front()?;
        let (tag, came) = (first.tag, first.came);
        let (mut complete, mut left) = (came, count.min(self.samples));
        self.samples -= left;
        while left > 0 {
            let piece = self.pieces.front_mut()?;
            let now = left.min(piece.sound.len() - piece.played);
            out.extend_from_slice(&piece.sound[piece.played..piece.played + now]);
            piece.played += now;
            left -= now;
            complete = complete.max(piece.came);
            if piece.played == piece.sound.len() {
                self.pieces.pop_front();
            }
        }
        Some((tag, came, complete))
    }
}

impl<Tag: Copy> Playout<Tag> {
    /// Plays sound of `rate` in the packetizer's frames; each leaves `lead` before it is due.
    pub fn new(packets: Packetizer, rate: Rate, lead: Nanos) -> Self {
        let track = || Track { pieces: VecDeque::new(), samples: 0 };
        let frame = Vec::with_capacity(packets.samples());
        Playout {
            packets,
            rate,
            lead,
            speech: track(),
            tone: track(),
            spurt: None,
            ended: None,
            frame,
            finished: false,
            behind: 0,
        }
    }

    /// Queues speech. A tone that plays ends, and the first frame of speech leaves at once.
    pub fn push_speech(&mut self, now: Stamp, sound: Arc<[f32]>, tag: Tag) {
        self.end_idle_spurt(now);
        if self.speech.pieces.is_empty() && !self.tone.pieces.is_empty() {
            self.end_spurt();
        }
        self.speech.push(now, sound, tag);
    }

    /// Queues a tone; it is left out while speech plays.
    pub fn push_tone(&mut self, now: Stamp, sound: Arc<[f32]>, tag: Tag) {
        self.end_idle_spurt(now);
        if self.speech.pieces.is_empty() {
            self.tone.push(now, sound, tag);
        }
    }

    /// Drops what is queued and cancelled, and ends the spurt where nothing is left of it.
    pub fn cancel(&mut self, cancelled: impl Fn(&Tag) -> bool) {
        let dropped = self.speech.drop_pieces(&cancelled) | self.tone.drop_pieces(&cancelled);
        if dropped && self.is_empty() {
            self.end_spurt();
        }
    }

    /// Nothing more will come: the last frame does not wait for more.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether everything has left.
    pub fn is_empty(&self) -> bool {
        self.speech.pieces.is_empty() && self.tone.pieces.is_empty()
    }

    /// When to poll again; `None` when there is nothing to play.
    pub fn deadline(&self) -> Option<Stamp> {
        let speech = self.speech.pieces.front();
        let first = speech.or(self.tone.pieces.front())?;
        let whole = speech.is_none() || self.finished || self.speech.samples >= self.packets.samples();
        Some(match self.spurt {
            Some(_) if whole => self.leaves(),
            Some(_) => self.due(),
            None if whole => Stamp::ZERO,
            None => first.came + self.lead,
        })
    }

    /// The frame that leaves now; call until `None` at each deadline and after each push.
    pub fn poll(&mut self, now: Stamp) -> Option<Outgoing<'_, Tag>> {
        let deadline = self.deadline().filter(|&deadline| deadline <= now)?;
        let spurt = match self.spurt {
            Some(spurt) => spurt,
            None => self.begin_spurt(now),
        };
        let count = self.packets.samples();
        self.frame.clear();
        let speaks = !self.speech.pieces.is_empty();
        let track = if speaks { &mut self.speech } else { &mut self.tone };
        let (tag, came, complete) = track.take(count, &mut self.frame)?;
        if speaks {
            self.fade_tone();
        }
        let intended = deadline.max(complete);
        self.behind += u64::from(spurt.frames > 0 && now > intended + self.lead);
        self.spurt = Some(Spurt { frames: spurt.frames + 1, ..spurt });
        let held = intended.since(came).unwrap_or(Nanos::ZERO);
        let (key, datagram) = self.packets.packet(&self.frame);
        Some(Outgoing { datagram, key, tag, held })
    }

    /// Frames that left after they were due.
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// The stream's numbers.
    pub fn packets(&self) -> &Packetizer {
        &self.packets
    }

    /// When the next frame of a spurt is due to be heard.
    fn due(&self) -> Stamp {
        self.spurt.map_or(Stamp::ZERO, |spurt| spurt.began + self.length(spurt.frames))
    }

    /// When it is to leave.
    fn leaves(&self) -> Stamp {
        self.spurt.map_or(Stamp::ZERO, |spurt| (self.due() - self.lead).max(spurt.began))
    }

    fn length(&self, frames: u64) -> Nanos {
        let samples = u128::from(frames) * self.packets.samples() as u128;
        Nanos((samples * 1_000_000_000 / u128::from(self.rate.0)) as u64)
    }

    /// The timestamps go on with the time that has passed in silence.
    fn begin_spurt(&mut self, now: Stamp) -> Spurt {
        if let Some(ended) = self.ended {
            let silence = now.since(ended).unwrap_or(Nanos::ZERO);
            self.packets.pause((u128::from(silence.0) * u128::from(self.rate.0) / 1_000_000_000) as u32);
        }
        let spurt = Spurt { began: now, frames: 0 };
        self.spurt = Some(spurt);
        spurt
    }

    /// A spurt is over when its sound has been heard to its end, and the lead has passed too: what comes within the lead
    /// goes on with it, so that sound that is no faster than it is heard makes one spurt.
    fn end_idle_spurt(&mut self, now: Stamp) {
        if self.is_empty() && now > self.due() + self.lead {
            self.end_spurt();
        }
    }

    fn end_spurt(&mut self) {
        if let Some(spurt) = self.spurt.take() {
            self.ended = Some(spurt.began + self.length(spurt.frames));
        }
    }

    /// What is left of the tone ends below the first of the speech.
    fn fade_tone(&mut self) {
        let length = (TONE_FADE.0 * u64::from(self.rate.0) / 1_000_000_000) as usize;
        let left = self.tone.pieces.iter().flat_map(|piece| &piece.sound[piece.played..]);
        for (n, (sample, tone)) in self.frame.iter_mut().zip(left).take(length).enumerate() {
            *sample += tone * (1.0 - n as f32 / length as f32);
        }
        self.tone.drop_pieces(|_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::rtp::{Packet, PayloadType, Ssrc};

    const LEAD: Nanos = Nanos::from_millis(20);

    fn at(millis: u64) -> Stamp {
        Stamp(1_000_000_000) + Nanos::from_millis(millis)
    }

    fn sound(millis: usize, value: f32) -> Arc<[f32]> {
        vec![value; 48 * millis].into()
    }

    #[derive(Debug, PartialEq)]
    struct Left {
        millis: u64,
        tag: char,
        held: u64,
        marker: bool,
        /// Since the first packet, in ms of sound.
        timestamp: u32,
        first: i16,
        last: i16,
    }

    struct Bench {
        playout: Playout<char>,
        first_timestamp: u32,
        now: u64,
        left: Vec<Left>,
    }

    impl Bench {
        fn new() -> Self {
            let (frame, rate) = (Nanos::from_millis(10), Rate::HZ_48000);
            let packets = Packetizer::new(frame, rate, PayloadType::DYNAMIC, Some(Ssrc(7))).unwrap();
            let first_timestamp = packets.header().timestamp.0;
            Bench { playout: Playout::new(packets, rate, LEAD), first_timestamp, now: 0, left: Vec::new() }
        }

        /// Lets time pass, a millisecond at a time.
        fn until(&mut self, millis: u64) -> &mut Self {
            for millis in self.now..=millis {
                while let Some(out) = self.playout.poll(at(millis)) {
                    let Packet { header, payload, .. } = Packet::parse(out.datagram).unwrap();
                    let sample = |bytes: &[u8]| i16::from_be_bytes([bytes[0], bytes[1]]);
                    self.left.push(Left {
                        millis,
                        tag: out.tag,
                        held: out.held.0 / 1_000_000,
                        marker: header.marker,
                        timestamp: header.timestamp.0.wrapping_sub(self.first_timestamp) / 48,
                        first: sample(payload),
                        last: sample(&payload[958..]),
                    });
                }
            }
            self.now = millis;
            self
        }

        fn speech(&mut self, sound: Arc<[f32]>, tag: char) -> &mut Self {
            self.playout.push_speech(at(self.now), sound, tag);
            self
        }

        fn tone(&mut self, sound: Arc<[f32]>, tag: char) -> &mut Self {
            self.playout.push_tone(at(self.now), sound, tag);
            self
        }

        fn times(&self) -> Vec<u64> {
            self.left.iter().map(|left| left.millis).collect()
        }
    }

    #[test]
    fn the_first_frame_leaves_at_once_and_the_others_a_lead_before_they_are_due() {
        let mut bench = Bench::new();
        bench.until(5).speech(sound(60, 0.5), 'a').until(200);
        assert_eq!(bench.times(), [5, 5, 5, 15, 25, 35]);
        let held: Vec<_> = bench.left.iter().map(|left| left.held).collect();
        assert_eq!(held, [0, 0, 0, 10, 20, 30]);
        let stamps: Vec<_> = bench.left.iter().map(|left| (left.timestamp, left.marker)).collect();
        assert_eq!(stamps, [(0, true), (10, false), (20, false), (30, false), (40, false), (50, false)]);
        assert_eq!((bench.playout.behind(), bench.playout.deadline()), (0, None));
    }

    #[test]
    fn chunks_that_come_in_time_make_one_spurt_and_share_frames() {
        let mut bench = Bench::new();
        bench.speech(sound(25, 0.5), 'a').until(12);
        bench.playout.cancel(|_| false);
        bench.speech(sound(25, 0.25), 'b').until(200);
        assert_eq!(bench.times(), [0, 0, 12, 12, 20]);
        let third = &bench.left[2];
        assert_eq!((third.tag, third.held), ('a', 12), "it waited for the chunk that fills it");
        assert_eq!((third.first, third.last), (16_384, 8_192));
        assert!(bench.left[1..].iter().all(|left| !left.marker));
    }

    #[test]
    fn frames_that_come_one_by_one_make_one_spurt_although_each_is_late() {
        let mut bench = Bench::new();
        for n in 0..5 {
            bench.until(13 * n).speech(sound(10, 0.5), 'a');
        }
        bench.until(100);
        assert_eq!(bench.times(), [0, 13, 26, 39, 52]);
        assert!(bench.left[1..].iter().all(|left| !left.marker && left.held == 0));
        assert_eq!(bench.left[4].timestamp, 40);
    }

    #[test]
    fn speech_that_comes_too_late_begins_a_spurt_after_the_silence_that_was_heard() {
        let mut bench = Bench::new();
        bench.speech(sound(10, 0.5), 'a').until(110).speech(sound(10, 0.5), 'b').until(300);
        assert_eq!(bench.times(), [0, 110]);
        assert_eq!((bench.left[1].timestamp, bench.left[1].marker), (110, true));
    }

    #[test]
    fn a_rest_shorter_than_a_frame_waits_until_it_is_due_and_is_filled_up() {
        let mut bench = Bench::new();
        bench.speech(sound(15, 0.5), 'a').until(100);
        assert_eq!(bench.times(), [0, 10]);
        assert_eq!((bench.left[1].held, bench.left[1].first, bench.left[1].last), (10, 16_384, 0));
    }

    #[test]
    fn a_first_chunk_shorter_than_a_frame_waits_for_the_lead() {
        let mut bench = Bench::new();
        bench.speech(sound(5, 0.5), 'a').until(100);
        assert_eq!((bench.times(), bench.left[0].held), (vec![20], 20));
    }

    #[test]
    fn at_the_end_the_rest_does_not_wait_for_more() {
        let mut bench = Bench::new();
        bench.speech(sound(15, 0.5), 'a');
        bench.playout.finish();
        bench.until(100);
        assert_eq!(bench.times(), [0, 0]);
        assert!(bench.playout.is_empty());
    }

    #[test]
    fn speech_breaks_a_tone_off_softly_and_leaves_at_once() {
        let mut bench = Bench::new();
        bench.tone(sound(200, 0.25), 't').until(43).speech(sound(20, 0.5), 'a').until(300);
        assert_eq!(bench.times(), [0, 0, 0, 10, 20, 30, 40, 43, 43]);
        let first = &bench.left[7];
        assert_eq!((first.tag, first.held, first.marker, first.timestamp), ('a', 0, true, 70));
        assert_eq!((first.first, first.last), (24_576, 16_384), "the tone fades below it");
    }

    #[test]
    fn a_tone_is_left_out_while_speech_plays_and_played_when_none_does() {
        let mut bench = Bench::new();
        bench.speech(sound(40, 0.5), 'a').until(5).tone(sound(20, 0.25), 't').until(100);
        assert_eq!(bench.left.iter().map(|left| left.tag).collect::<String>(), "aaaa");
        bench.tone(sound(20, 0.25), 't').until(200);
        assert_eq!(bench.left.iter().map(|left| left.tag).collect::<String>(), "aaaatt");
    }

    #[test]
    fn a_cancelled_turn_is_dropped_at_once_and_the_next_begins_anew() {
        let mut bench = Bench::new();
        bench.speech(sound(1_000, 0.5), 'a').speech(sound(20, 0.25), 'b').until(100);
        bench.playout.cancel(|&tag| tag == 'a');
        bench.until(400);
        let after: String =
            bench.left.iter().skip_while(|left| left.millis <= 100).map(|left| left.tag).collect();
        assert_eq!(after, "bb");
        bench.speech(sound(1_000, 0.5), 'c').until(450);
        bench.playout.cancel(|_| true);
        assert_eq!((bench.playout.is_empty(), bench.playout.deadline()), (true, None));
        let sent = bench.left.len();
        bench.until(600).speech(sound(10, 0.5), 'd').until(700);
        assert_eq!((bench.left.len(), bench.left[sent].tag, bench.left[sent].marker), (sent + 1, 'd', true));
    }

    #[test]
    fn a_poll_that_comes_late_delays_no_later_frame_and_is_counted() {
        let mut bench = Bench::new();
        bench.speech(sound(100, 0.5), 'a').until(10);
        bench.now = 75;
        bench.until(75).until(300);
        assert_eq!(bench.times(), [0, 0, 0, 10, 75, 75, 75, 75, 75, 75]);
        assert_eq!(bench.playout.behind(), 4, "those due at 40, 50, 60 and 70 ms");
    }
}
