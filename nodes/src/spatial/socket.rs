//! Unix stream sockets that never block.

use std::{
    env, fs,
    io::{self, ErrorKind, Write},
    os::{
        fd::{AsFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
    path::PathBuf,
};

use graph_core::{Build, BuildError};
use rustix::{
    event::epoll::{self, CreateFlags, EventData, EventFlags},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The name is none.
    #[error(
        "{name:?} is no socket: give a path of at most 107 bytes, a name in the runtime directory, or @NAME"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// Another program listens there.
    #[error("{name} is in use: end the program that listens there, or choose another socket")]
    InUse {
        /// The socket.
        name: String,
    },
    /// Anything else.
    #[error("cannot use {name}: {source}")]
    Other {
        /// The socket.
        name: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Where a socket is.
///
/// A name with a slash is a path. Without one it lies in `$XDG_RUNTIME_DIR`, else in the directory for temporary files.
/// `@NAME` is a name in Linux' abstract namespace, without a file.
#[derive(Clone, Debug)]
pub struct Address {
    name: String,
    path: Option<PathBuf>,
    address: SocketAddrUnix,
}

impl Address {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// When it is empty or too long.
    pub fn new(name: &str) -> Result<Address, SocketError> {
        let no_name = || SocketError::Name { name: name.to_owned() };
        if let Some(name_there) = name.strip_prefix('@').filter(|name| !name.is_empty()) {
            let address = SocketAddrUnix::new_abstract_name(name_there.as_bytes()).map_err(|_| no_name())?;
            return Ok(Address { name: name.to_owned(), path: None, address });
        }
        if name.is_empty() || name.starts_with('@') {
            return Err(no_name());
        }
        let path = match name.contains('/') {
            true => PathBuf::from(name),
            false => env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from).join(name),
        };
        let address = SocketAddrUnix::new(&path).map_err(|_| no_name())?;
        Ok(Address { name: path.display().to_string(), path: Some(path), address })
    }

    /// The whole name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn error(&self, source: impl Into<io::Error>) -> SocketError {
        SocketError::Other { name: self.name.clone(), source: source.into() }
    }

    /// Connects, and tells the connection's own number: see [`number`].
    ///
    /// # Errors
    ///
    /// When nobody listens, or whoever does has no time to answer.
    pub fn connect(&self) -> Result<(UnixStream, u64), SocketError> {
        let connect = || -> io::Result<(UnixStream, u64)> {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // The kernel then chooses a name of our own, which the other end sees.
            rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed())?;
            rustix::net::connect(&socket, &self.address)?;
            let stream = UnixStream::from(socket);
            let number = number(&stream.local_addr()?);
            Ok((stream, number))
        };
        connect().map_err(|error| self.error(error))
    }

    /// Listens. A file that was left there by a program that is gone is replaced.
    ///
    /// # Errors
    ///
    /// When another program listens there, or the system refuses.
    pub fn listen(&self) -> Result<Listener, SocketError> {
        let in_use = || SocketError::InUse { name: self.name.clone() };
        match self.bind() {
            Ok(listener) => Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let Some(path) = &self.path else { return Err(in_use()) };
                match UnixStream::connect(path) {
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                        fs::remove_file(path).map_err(|error| self.error(error))?;
                        self.bind().map_err(|error| self.error(error))
                    }
                    _ => Err(in_use()),
                }
            }
            Err(error) => Err(self.error(error)),
        }
    }

    fn bind(&self) -> io::Result<Listener> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&socket, &self.address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(Listener { socket: UnixListener::from(socket), path: self.path.clone() })
    }
}

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A number that both ends of a connection find, in the upper half: the name that the kernel gave to the connecting
/// end, five hexadecimal digits ([unix(7)], autobind). It is not that of any other connection of its time. 0 where the
/// connecting end has chosen another name, or none.
///
/// [unix(7)]: https://man7.org/linux/man-pages/man7/unix.7.html
pub fn number(connecting_end: &SocketAddr) -> u64 {
    let name = connecting_end.as_abstract_name().and_then(|name| std::str::from_utf8(name).ok());
    let number = name.filter(|name| name.len() == 5).and_then(|name| u32::from_str_radix(name, 16).ok());
    u64::from(number.unwrap_or(0)) << 32
}

/// A socket that is listened at. Its file goes with it.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: Option<PathBuf>,
}

impl Listener {
    /// The next connection and its number; `None` when there is none at the moment.
    ///
    /// # Errors
    ///
    /// When the system has no more descriptors, and the like.
    pub fn accept(&self) -> io::Result<Option<(UnixStream, u64)>> {
        loop {
            return match self.socket.accept() {
                Ok((stream, from)) => {
                    stream.set_nonblocking(true)?;
                    Ok(Some((stream, number(&from))))
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => Ok(None),
                    // The peer has gone meanwhile.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => Err(error),
                },
            };
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Somebody may have taken it away.
            let _ = fs::remove_file(path);
        }
    }
}

/// Watches sockets that come and go; the lane watches it.
#[derive(Debug)]
pub struct Poll(OwnedFd);

impl Poll {
    /// The node steps whenever one of the sockets has something.
    ///
    /// # Errors
    ///
    /// When the system has no more descriptors.
    pub fn new(build: &mut Build<'_>) -> Result<Poll, BuildError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        build.watch(&epoll)?;
        Ok(Poll(epoll))
    }

    /// Watches a socket until it is closed. Edge-triggered.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.0, socket, EventData::new_u64(token), flags)?)
    }

    /// Tells when there is room to write into a socket again, or no longer does.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn want_room(&self, socket: impl AsFd, token: u64, wanted: bool) -> io::Result<()> {
        let mut flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        flags.set(EventFlags::OUT, wanted);
        Ok(epoll::modify(&self.0, socket, EventData::new_u64(token), flags)?)
    }

    /// The sockets that have something since this was last asked.
    pub fn ready(&self, mut ready: impl FnMut(u64)) {
        const EVENTS: usize = 32;
        let mut events = [std::mem::MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            // An interrupted look is asked for again by the step that the next event makes.
            let Ok((events, _)) = epoll::wait(&self.0, &mut events, Some(&at_once)) else { return };
            events.iter().for_each(|event| ready(event.data.u64()));
            if events.len() < EVENTS {
                return;
            }
        }
    }
}

/// What could not be written yet.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Writes `bytes` behind what is here; keeps what does not go out.
    ///
    /// # Errors
    ///
    /// When the peer has gone.
    #[inline]
    pub fn send(&mut self, stream: &UnixStream, bytes: &[u8]) -> io::Result<()> {
        let written = if self.is_empty() { write(stream, bytes)? } else { 0 };
        if written < bytes.len() {
            self.bytes.extend_from_slice(&bytes[written..]);
        }
        Ok(())
    }

    /// Writes what is here. Returns whether nothing is left.
    ///
    /// # Errors
    ///
    /// When the peer has gone.
    pub fn flush(&mut self, stream: &UnixStream) -> io::Result<bool> {
        if !self.is_empty() {
            self.sent += write(stream, &self.bytes[self.sent..])?;
            if self.sent == self.bytes.len() {
                self.bytes.clear();
                self.sent = 0;
            }
        }
        Ok(self.is_empty())
    }

    /// Whether all has gone out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }
}

/// Writes as much as goes.
#[inline]
fn write(mut stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::spatial::testing::address;

    #[test]
    fn both_ends_find_the_same_number_and_no_two_connections_have_one() {
        let address = Address::new(&address("number")).unwrap();
        let listener = address.listen().unwrap();
        let numbers = [(); 3].map(|()| {
            let (ours, number) = address.connect().unwrap();
            let (theirs, same) = listener.accept().unwrap().unwrap();
            assert_eq!(number, same);
            (number, ours, theirs)
        });
        assert!(numbers.iter().all(|(number, ..)| *number > u64::from(u32::MAX)));
        assert!(numbers[0].0 != numbers[1].0 && numbers[1].0 != numbers[2].0);
        assert!(listener.accept().unwrap().is_none());
    }

    #[test]
    fn a_socket_file_of_a_dead_program_is_replaced_and_that_of_a_live_one_is_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ipc.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves the file behind");
        let address = Address::new(path.to_str().unwrap()).unwrap();
        let listener = address.listen().unwrap();
        assert_eq!(
            address.listen().unwrap_err().to_string(),
            format!(
                "{} is in use: end the program that listens there, or choose another socket",
                path.display()
            )
        );
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn names_that_are_none_say_so() {
        for name in ["", "@", &"x".repeat(200)] {
            assert!(matches!(Address::new(name), Err(SocketError::Name { .. })), "{name}");
        }
        assert!(Address::new("ipc.sock").unwrap().name().ends_with("/ipc.sock"));
    }

    #[test]
    fn what_a_peer_does_not_read_is_kept_and_goes_out_later() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let message = vec![7; 3_000_000];
        let mut outbox = Outbox::default();
        outbox.send(&ours, &message).unwrap();
        outbox.send(&ours, &[8]).unwrap();
        assert!(!outbox.is_empty() && !outbox.flush(&ours).unwrap());
        let (mut got, mut buffer) = (Vec::new(), vec![0; 100_000]);
        while got.len() < message.len() + 1 {
            let count = theirs.read(&mut buffer).unwrap();
            got.extend_from_slice(&buffer[..count]);
            outbox.flush(&ours).unwrap();
        }
        assert!(outbox.is_empty() && got[..message.len()] == message && got[message.len()..] == [8]);
    }
}
