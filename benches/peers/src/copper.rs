//! copper (cu29): a graph compiled in, stepped in order by one thread, its messages in preallocated lists.

use cu29::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    packet::{Head, LARGE_BYTES, Payload},
    peer::{Chain, Failure, Peer, Setup},
    probe::{self, Feed, Sink, Stage},
};

/// What the unified log takes at first; only a part of it is written with the log off.
const LOG_BYTES: usize = 64 << 20;

/// copper, with its log or without.
pub struct Copper {
    /// Whether every message and every task's state go to its unified log.
    pub log: bool,
}

impl Peer for Copper {
    fn name(&self) -> &'static str {
        if self.log { "copper-log" } else { "copper" }
    }

    fn version(&self) -> String {
        env!("VERSION_CU29").into()
    }

    fn setup(&self, chain: Chain) -> Option<Setup> {
        let by = match chain.payload {
            Payload::Small => "",
            Payload::Large => ", CuHandle",
        };
        if self.log && chain.payload == Payload::Large {
            return None;
        }
        let log = if self.log { "on (the default)" } else { "off, keyframes off" };
        let words = format!("serial planner, task logging {log}, no monitor, run_one_iteration(){by}");
        Some(Setup { words, threads: 1 })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        let packets = probe::run().packets;
        let ran = match (self.log, chain.payload, chain.stages) {
            (false, Payload::Small, 1) => small1::iterate(packets),
            (false, Payload::Small, 4) => small4::iterate(packets),
            (false, Payload::Small, 10) => small10::iterate(packets),
            (false, Payload::Small, 100) => small100::iterate(packets),
            (false, Payload::Large, 1) => large1::iterate(packets),
            (false, Payload::Large, 4) => large4::iterate(packets),
            (false, Payload::Large, 10) => large10::iterate(packets),
            (false, Payload::Large, 100) => large100::iterate(packets),
            (true, Payload::Small, 1) => logged1::iterate(packets),
            (true, Payload::Small, 4) => logged4::iterate(packets),
            (true, Payload::Small, 10) => logged10::iterate(packets),
            (true, Payload::Small, 100) => logged100::iterate(packets),
            (_, payload, stages) => {
                return Err(
                    format!("no graph of {stages} stages with {} is compiled in", payload.words()).into()
                );
            }
        };
        ran.map_err(|error| error.to_string().into())
    }
}

/// Builds an application, runs an iteration for each packet, and stops it.
macro_rules! iterate {
    ($app:ident) => {
        pub(super) fn iterate(packets: u64) -> CuResult<()> {
            let directory =
                tempfile::tempdir().map_err(|error| CuError::new_with_cause("no place for a log", error))?;
            let log = directory.path().join("log.copper");
            let mut running = $app::builder().with_log_path(log, Some(LOG_BYTES))?.build()?.start()?;
            for _ in 0..packets {
                running.run_one_iteration()?;
            }
            drop(running.stop()?);
            Ok(())
        }
    };
}

/// 64 bytes.
#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode, Serialize, Deserialize, Reflect)]
struct SmallMessage {
    seq: u64,
    stamp: u64,
    words: [u64; 6],
}

/// A handle to 1.2 MB.
#[derive(Clone, Debug, Default, bincode::Encode, Serialize, Deserialize, Reflect)]
struct LargeMessage {
    seq: u64,
    stamp: u64,
    #[reflect(ignore)]
    bytes: Option<CuHandle<Vec<u8>>>,
}

// The derive wants to borrow as well, which a handle cannot.
impl bincode::Decode<()> for LargeMessage {
    fn decode<D: bincode::de::Decoder<Context = ()>>(
        decoder: &mut D,
    ) -> Result<Self, bincode::error::DecodeError> {
        Ok(LargeMessage {
            seq: bincode::Decode::decode(decoder)?,
            stamp: bincode::Decode::decode(decoder)?,
            bytes: bincode::Decode::decode(decoder)?,
        })
    }
}

#[derive(Reflect)]
#[reflect(from_reflect = false)]
struct FirstSmall {
    #[reflect(ignore)]
    feed: Feed<crate::packet::Small>,
}
impl Freezable for FirstSmall {}

impl CuSrcTask for FirstSmall {
    type Resources<'r> = ();
    type Output<'m> = output_msg!(SmallMessage);

    fn new(_: Option<&ComponentConfig>, (): Self::Resources<'_>) -> CuResult<Self> {
        Ok(FirstSmall { feed: Feed::default() })
    }

    fn process(&mut self, _: &CuContext, output: &mut Self::Output<'_>) -> CuResult<()> {
        let Head { seq, stamp } = self.feed.head().ok_or("more iterations than packets")?;
        output.set_payload(SmallMessage { seq, stamp, words: [seq; 6] });
        Ok(())
    }
}

#[derive(Reflect)]
#[reflect(from_reflect = false)]
struct FirstLarge {
    #[reflect(ignore)]
    feed: Feed<crate::packet::Small>,
    #[reflect(ignore)]
    buffers: Vec<CuHandle<Vec<u8>>>,
}
impl Freezable for FirstLarge {}

impl CuSrcTask for FirstLarge {
    type Resources<'r> = ();
    type Output<'m> = output_msg!(LargeMessage);

    fn new(_: Option<&ComponentConfig>, (): Self::Resources<'_>) -> CuResult<Self> {
        let buffer = |value| CuHandle::new_detached(vec![value; LARGE_BYTES]);
        Ok(FirstLarge { feed: Feed::default(), buffers: (0..8).map(buffer).collect() })
    }

    fn process(&mut self, _: &CuContext, output: &mut Self::Output<'_>) -> CuResult<()> {
        let Head { seq, stamp } = self.feed.head().ok_or("more iterations than packets")?;
        let bytes = self.buffers[seq as usize % self.buffers.len()].clone();
        output.set_payload(LargeMessage { seq, stamp, bytes: Some(bytes) });
        Ok(())
    }
}

/// The same task for both messages.
macro_rules! middle {
    ($task:ident, $message:ty) => {
        #[derive(Reflect)]
        #[reflect(from_reflect = false)]
        struct $task {
            #[reflect(ignore)]
            stage: Stage,
        }
        impl Freezable for $task {}

        impl CuTask for $task {
            type Resources<'r> = ();
            type Input<'m> = input_msg!($message);
            type Output<'m> = output_msg!($message);

            fn new(_: Option<&ComponentConfig>, (): Self::Resources<'_>) -> CuResult<Self> {
                Ok($task { stage: Stage::default() })
            }

            fn process(
                &mut self,
                _: &CuContext,
                input: &Self::Input<'_>,
                output: &mut Self::Output<'_>,
            ) -> CuResult<()> {
                let mut message = input.payload().ok_or("no message")?.clone();
                let mut head = Head { seq: message.seq, stamp: message.stamp };
                self.stage.pass(&mut head);
                message.stamp = head.stamp;
                output.set_payload(message);
                Ok(())
            }
        }
    };
}
middle!(MiddleSmall, SmallMessage);
middle!(MiddleLarge, LargeMessage);

/// The same task for both messages, with how a word of the data is read.
macro_rules! last {
    ($task:ident, $message:ty, $word:expr) => {
        #[derive(Reflect)]
        #[reflect(from_reflect = false)]
        struct $task {
            #[reflect(ignore)]
            sink: Sink,
        }
        impl Freezable for $task {}

        impl CuSinkTask for $task {
            type Resources<'r> = ();
            type Input<'m> = input_msg!($message);

            fn new(_: Option<&ComponentConfig>, (): Self::Resources<'_>) -> CuResult<Self> {
                Ok($task { sink: Sink::default() })
            }

            fn process(&mut self, _: &CuContext, input: &Self::Input<'_>) -> CuResult<()> {
                let message = input.payload().ok_or("no message")?;
                let word = $word(message).ok_or("no data in the message")?;
                self.sink.arrive(Head { seq: message.seq, stamp: message.stamp }, word);
                Ok(())
            }
        }
    };
}
last!(LastSmall, SmallMessage, |message: &SmallMessage| Some(message.words[5]));
last!(LastLarge, LargeMessage, |message: &LargeMessage| {
    message.bytes.as_ref().map(|bytes| bytes.with_inner(|bytes| u64::from(bytes[0])))
});

include!(concat!(env!("OUT_DIR"), "/copper.rs"));
