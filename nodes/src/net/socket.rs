//! UDP sockets of the two directions: non-blocking, and the receiving one with the kernel's stamp on every datagram.

use std::{
    io::{self, IoSliceMut},
    net::{SocketAddr, ToSocketAddrs, UdpSocket},
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use graph_core::{
    Clock, Nanos, Stamp,
    time::{ClockPair, Kernel},
};
use nix::{
    errno::Errno,
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt},
        time::TimeSpec,
    },
};

/// No datagram is longer: a UDP length is 16 bits wide.
const LARGEST: usize = 65_535;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The address is none.
    #[error("{address:?} is no address: write host:port, such as \"127.0.0.1:5004\"")]
    Address {
        /// What was given.
        address: String,
    },
    /// Another program listens there.
    #[error("port {} of {} is in use: end the program that holds it, or choose another port", .0.port(), .0.ip())]
    InUse(SocketAddr),
    /// The machine has no such address.
    #[error("this machine has no address {}: 0.0.0.0 listens on all that it has", .0.ip())]
    NotHere(SocketAddr),
    /// A port for the system only.
    #[error("port {} needs privileges: choose one above 1023", .0.port())]
    Privileged(SocketAddr),
    /// Anything else.
    #[error("cannot use {address}: {source}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// A datagram's size and the time at which the kernel got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes at the front of the buffer.
    pub len: usize,
    /// On the run's clock; where that is virtual, when it was read.
    pub arrived: Stamp,
    /// By how much `arrived` may be off.
    pub error: Nanos,
}

/// A socket that datagrams are read from.
pub struct Receiving {
    socket: UdpSocket,
    buffer: Box<[u8]>,
    control: Vec<u8>,
    clock: Clock,
    pair: Option<ClockPair>,
    overflowed: u64,
}

impl Receiving {
    /// Listens at `address`, such as `127.0.0.1:5004`, and tells arrivals by `clock`.
    ///
    /// # Errors
    ///
    /// When the port is in use, needs privileges, or the address is not of this machine.
    pub fn bind(address: &str, clock: Clock) -> Result<Receiving, SocketError> {
        let at = resolve(address)?;
        let socket = UdpSocket::bind(at).map_err(|source| socket_error(at, source))?;
        let system = |errno: Errno| socket_error(at, errno.into());
        socket.set_nonblocking(true).map_err(|source| socket_error(at, source))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(system)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(system)?;
        Ok(Receiving {
            socket,
            buffer: vec![0; LARGEST].into(),
            control: nix::cmsg_space!(TimeSpec, u32),
            clock,
            pair: None,
            overflowed: 0,
        })
    }

    /// Where it listens; tells the port where 0 was asked for.
    ///
    /// # Errors
    ///
    /// When the system cannot say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next datagram, or `None` when there is none at the moment.
    ///
    /// # Errors
    ///
    /// When the socket is broken.
    pub fn receive(&mut self) -> io::Result<Option<(Arrival, &[u8])>> {
        let mut into = [IoSliceMut::new(&mut self.buffer)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let fd = self.socket.as_raw_fd();
        let message = loop {
            match recvmsg::<()>(fd, &mut into, Some(&mut self.control), flags) {
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                other => break other?,
            }
        };
        let len = message.bytes;
        let mut stamp = None;
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(at) => stamp = Some(nanos(at)),
                ControlMessageOwned::RxqOvfl(count) => self.overflowed = u64::from(count),
                _ => {}
            }
        }
        let now = self.clock.now();
        let (arrived, error) = match stamp {
            Some(real) if !self.clock.is_virtual() => {
                let pair = match self.pair {
                    Some(pair) if pair.is_fresh(now) => pair,
                    _ => *self.pair.insert(ClockPair::read(&self.clock, Kernel::Realtime)),
                };
                (pair.convert(real), pair.error())
            }
            _ => (now, Nanos::ZERO),
        };
        Ok(Some((Arrival { len, arrived, error }, &self.buffer[..len])))
    }

    /// Datagrams that the kernel had no room for.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }
}

impl AsFd for Receiving {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What became of datagrams that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Handed to the kernel.
    pub datagrams: u64,
    /// Answered by "nobody listens there", each for the one before.
    pub refused: u64,
    /// Dropped here, since the kernel had no room or no way to the peer.
    pub dropped: u64,
}

/// A socket that datagrams are sent from, to one peer.
pub struct Sending {
    socket: UdpSocket,
    sent: Sent,
}

impl Sending {
    /// Sends to `address`, such as `192.168.1.7:5006`.
    ///
    /// # Errors
    ///
    /// When the address is none, or cannot be reached from this machine.
    pub fn connect(address: &str) -> Result<Sending, SocketError> {
        let to = resolve(address)?;
        let any: SocketAddr = match to {
            SocketAddr::V4(_) => ([0; 4], 0).into(),
            SocketAddr::V6(_) => ([0; 16], 0).into(),
        };
        let failed = |source| socket_error(to, source);
        let socket = UdpSocket::bind(any).map_err(failed)?;
        socket.connect(to).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Sending { socket, sent: Sent::default() })
    }

    /// Sends a datagram; `false` when it did not leave, which is counted.
    ///
    /// A peer that does not listen and a network that is gone are no errors: they may come back.
    ///
    /// # Errors
    ///
    /// When the datagram is too large, or the socket broken.
    pub fn send(&mut self, datagram: &[u8]) -> io::Result<bool> {
        loop {
            return match self.socket.send(datagram) {
                Ok(_) => {
                    self.sent.datagrams += 1;
                    Ok(true)
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    // The kernel reports the fate of an earlier datagram and sends nothing: try again.
                    io::ErrorKind::ConnectionRefused => {
                        self.sent.refused += 1;
                        continue;
                    }
                    io::ErrorKind::WouldBlock
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::NetworkDown => {
                        self.sent.dropped += 1;
                        Ok(false)
                    }
                    _ => Err(error),
                },
            };
        }
    }

    /// What became of the datagrams so far.
    pub fn sent(&self) -> Sent {
        self.sent
    }
}

fn nanos(time: TimeSpec) -> u64 {
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}

/// Whether the text may be an address: a host and a port. What the host is is looked up only when a socket is made.
///
/// # Errors
///
/// When it is none.
pub(super) fn check_address(address: &str) -> Result<(), SocketError> {
    let parts = address.rsplit_once(':');
    let sound = parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if sound { Ok(()) } else { Err(SocketError::Address { address: address.into() }) }
}

fn resolve(address: &str) -> Result<SocketAddr, SocketError> {
    let found = address.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| SocketError::Address { address: address.into() })
}

fn socket_error(address: SocketAddr, source: io::Error) -> SocketError {
    match source.kind() {
        io::ErrorKind::AddrInUse => SocketError::InUse(address),
        io::ErrorKind::AddrNotAvailable => SocketError::NotHere(address),
        io::ErrorKind::PermissionDenied => SocketError::Privileged(address),
        _ => SocketError::Other { address, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_address_is_judged_without_looking_the_host_up() {
        for good in ["127.0.0.1:5004", "[::1]:0", "glasses.home:65535"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
        for bad in ["", "127.0.0.1", ":5004", "127.0.0.1:", "127.0.0.1:65536", "glasses:rtp"] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }

    fn pair() -> (Receiving, Sending) {
        let receiving = Receiving::bind("127.0.0.1:0", Clock::monotonic()).unwrap();
        let sending = Sending::connect(&receiving.address().unwrap().to_string()).unwrap();
        (receiving, sending)
    }

    #[test]
    fn datagrams_arrive_whole_with_the_kernels_stamp() {
        let (mut receiving, mut sending) = pair();
        assert!(receiving.receive().unwrap().is_none());
        let clock = Clock::monotonic();
        let before = clock.now();
        assert!(sending.send(b"one").unwrap());
        assert!(sending.send(&[7; 60_000]).unwrap());
        let after = clock.now();
        let (arrival, bytes) = receiving.receive().unwrap().unwrap();
        assert_eq!(bytes, b"one");
        assert!(arrival.error < Nanos::from_millis(1));
        let (earliest, latest) = (before - arrival.error, after + arrival.error);
        assert!((earliest..=latest).contains(&arrival.arrived), "sent to the loopback and got in one call");
        assert_eq!(receiving.receive().unwrap().unwrap().1.len(), 60_000);
        assert!(receiving.receive().unwrap().is_none());
        assert_eq!(receiving.overflowed(), 0);
    }

    #[test]
    fn a_queue_that_overflows_is_counted_by_the_kernel() {
        let (mut receiving, mut sending) = pair();
        for _ in 0..2_000 {
            sending.send(&[0; 1_000]).unwrap();
        }
        let mut got = 0;
        while receiving.receive().unwrap().is_some() {
            got += 1;
        }
        sending.send(b"the next one tells of those lost before it").unwrap();
        receiving.receive().unwrap().unwrap();
        assert_eq!(receiving.overflowed() + got, 2_000);
    }

    #[test]
    fn a_busy_port_says_which_and_what_to_do() {
        let (receiving, _) = pair();
        let address = receiving.address().unwrap();
        let error = Receiving::bind(&address.to_string(), Clock::kernel()).err().unwrap();
        assert_eq!(
            error.to_string(),
            format!(
                "port {} of 127.0.0.1 is in use: end the program that holds it, or choose another port",
                address.port()
            )
        );
    }

    #[test]
    fn an_address_that_is_none_or_not_here_says_so() {
        let says = |address: &str| Receiving::bind(address, Clock::kernel()).err().unwrap().to_string();
        assert_eq!(says("5004"), "\"5004\" is no address: write host:port, such as \"127.0.0.1:5004\"");
        assert_eq!(
            says("192.0.2.1:5004"),
            "this machine has no address 192.0.2.1: 0.0.0.0 listens on all that it has"
        );
    }

    #[test]
    fn a_peer_that_does_not_listen_is_counted_and_no_error() {
        let (receiving, mut sending) = pair();
        drop(receiving);
        for _ in 0..3 {
            assert!(sending.send(b"anyone?").unwrap());
        }
        assert_eq!(sending.sent(), Sent { datagrams: 3, refused: 2, dropped: 0 });
    }
}
