//! Loopback UDP, and whether the kernel stamps what arrives.

use std::{
    io::{self, IoSliceMut},
    net::UdpSocket,
    os::fd::AsRawFd,
    time::Duration,
};

use nix::{
    cmsg_space,
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns},
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};

use super::Finding;

const MESSAGE: &[u8] = b"graphrun";
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn look() -> Vec<Finding> {
    let (loopback, stamps) = ("UDP loopback", "kernel receive stamps");
    match to_oneself() {
        Ok(Arrival { stamped: Some(before) }) => vec![
            Finding::ok(loopback, "a datagram to oneself arrives"),
            Finding::ok(stamps, format!("a datagram is stamped {} us before it is read", before.as_micros())),
        ],
        Ok(Arrival { stamped: None }) => vec![
            Finding::ok(loopback, "a datagram to oneself arrives"),
            Finding::warn(
                stamps,
                "the kernel gives none",
                "received audio is stamped when it is read: the first edge looks faster than it is",
            ),
        ],
        Err(error) => vec![Finding::missing(
            loopback,
            format!("a datagram to 127.0.0.1 does not arrive: {error}"),
            "ip link set lo up (as root); see that no firewall filters the loopback",
        )],
    }
}

struct Arrival {
    /// How long before it was read the kernel stamped the datagram.
    stamped: Option<Duration>,
}

fn to_oneself() -> io::Result<Arrival> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let asked = setsockopt(&socket, ReceiveTimestampns, &true);
    socket.send_to(MESSAGE, socket.local_addr()?)?;

    let mut buffer = [0; 64];
    let mut control = cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME)?);
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
        _ => None,
    });
    Ok(Arrival { stamped: asked.ok().and(stamp).and_then(|stamp| now.checked_sub(stamp)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_to_oneself_arrives_and_its_stamp_is_recent() {
        let arrival = to_oneself().unwrap();
        assert!(arrival.stamped.is_none_or(|before| before < PATIENCE));
    }
}
