//! The little of RTCP that a stream needs to end: BYE ([RFC 3550, section 6.6]).
//!
//! RTP and RTCP share one port here; they are told apart by the second byte ([RFC 5761, section 4]).
//!
//! [RFC 3550, section 6.6]: https://www.rfc-editor.org/rfc/rfc3550#section-6.6
//! [RFC 5761, section 4]: https://www.rfc-editor.org/rfc/rfc5761#section-4

use super::rtp::Ssrc;

const VERSION: u8 = 2;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const GOODBYE: u8 = 203;
const CNAME: u8 = 1;

/// Bytes of what [`bye`] makes.
pub const BYE: usize = 36;

/// Whether a datagram on a shared port is RTCP and not RTP: its second byte is 192 to 223.
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram, [_, 192..=223, ..])
}

/// The compound packet with which a source leaves: an empty report, its name, and BYE, in the order that
/// [RFC 3550, section 6.1] asks for. The name is the SSRC in hexadecimal.
///
/// [RFC 3550, section 6.1]: https://www.rfc-editor.org/rfc/rfc3550#section-6.1
pub fn bye(ssrc: Ssrc) -> [u8; BYE] {
    let id = ssrc.0.to_be_bytes();
    let mut bytes = [0; BYE];
    bytes[..4].copy_from_slice(&[VERSION << 6, RECEIVER_REPORT, 0, 1]);
    bytes[4..8].copy_from_slice(&id);
    bytes[8..12].copy_from_slice(&[VERSION << 6 | 1, SOURCE_DESCRIPTION, 0, 4]);
    bytes[12..16].copy_from_slice(&id);
    bytes[16..18].copy_from_slice(&[CNAME, 8]);
    for (digit, at) in bytes[18..26].iter_mut().zip((0..8).rev()) {
        *digit = b"0123456789abcdef"[(ssrc.0 >> (4 * at) & 0xf) as usize];
    }
    bytes[28..32].copy_from_slice(&[VERSION << 6 | 1, GOODBYE, 0, 1]);
    bytes[32..].copy_from_slice(&id);
    bytes
}

/// The sources that a datagram says good-bye for; none where it is no well-formed RTCP.
pub fn goodbyes(datagram: &[u8]) -> impl Iterator<Item = Ssrc> + '_ {
    let bodies = packets(datagram).filter(|&(kind, _, _)| kind == GOODBYE);
    bodies.flat_map(|(_, count, body)| {
        let ids = body.as_chunks().0.iter().take(count.into());
        ids.map(|&id| Ssrc(u32::from_be_bytes(id)))
    })
}

/// The packets of a compound: type, count and body; the walk stops at the first that is malformed.
fn packets(datagram: &[u8]) -> impl Iterator<Item = (u8, u8, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let (&[first, kind, w0, w1], tail) = rest.split_first_chunk()?;
        let (body, next) = tail.split_at_checked(usize::from(u16::from_be_bytes([w0, w1])) * 4)?;
        rest = next;
        (first >> 6 == VERSION).then_some((kind, first & 0x1f, body))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::net::rtp::Header;

    #[test]
    fn a_bye_is_a_compound_that_names_its_source() {
        let bytes = bye(Ssrc(0x00c0_ffee));
        assert!(is_rtcp(&bytes));
        assert_eq!(&bytes[18..26], b"00c0ffee");
        let walked: Vec<_> = packets(&bytes).map(|(kind, count, body)| (kind, count, body.len())).collect();
        assert_eq!(walked, [(RECEIVER_REPORT, 0, 4), (SOURCE_DESCRIPTION, 1, 16), (GOODBYE, 1, 4)]);
        assert_eq!(goodbyes(&bytes).collect::<Vec<_>>(), [Ssrc(0x00c0_ffee)]);
    }

    #[test]
    fn a_bye_alone_and_a_bye_of_several_are_understood() {
        let bytes = [0x82, 203, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 4, b'd', b'o', b'n'];
        assert_eq!(goodbyes(&bytes).collect::<Vec<_>>(), [Ssrc(1), Ssrc(2)]);
    }

    #[test]
    fn a_count_beyond_the_packet_names_only_what_is_there() {
        assert_eq!(goodbyes(&[0x9f, 203, 0, 1, 0, 0, 0, 1]).collect::<Vec<_>>(), [Ssrc(1)]);
        assert_eq!(goodbyes(&[0x81, 203, 0, 9, 0, 0, 0, 1]).count(), 0);
    }

    #[test]
    fn audio_is_never_taken_for_rtcp() {
        assert!(!is_rtcp(&Header::default().to_bytes()));
        assert!(!is_rtcp(&[]));
    }

    proptest! {
        #[test]
        fn random_datagrams_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = goodbyes(&bytes).count();
        }
    }
}
