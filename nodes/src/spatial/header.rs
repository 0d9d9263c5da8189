//! The header in front of every packed message.

/// What a packed message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageType {
    /// A request.
    Request,
    /// The answer to one.
    Response,
    /// How a view lies in the room.
    Homography,
}

impl MessageType {
    fn from_code(code: u32) -> Option<MessageType> {
        match code {
            1 => Some(MessageType::Request),
            2 => Some(MessageType::Response),
            3 => Some(MessageType::Homography),
            _ => None,
        }
    }

    fn code(self) -> u32 {
        match self {
            MessageType::Request => 1,
            MessageType::Response => 2,
            MessageType::Homography => 3,
        }
    }
}

/// The header: 20 bytes on the wire, field by field and little-endian, where the struct in memory takes 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub message_type: MessageType,
    /// How many bytes follow.
    pub payload_size: u32,
    /// Counts the messages of one sender; an answer has the number of its request.
    pub sequence: u32,
    /// The sender's clock, in nanoseconds.
    pub timestamp: u64,
}

/// The bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} is no message type: the peer speaks another protocol, or a message was cut short before")]
pub struct NoHeader {
    /// What stands for the message type.
    pub code: u32,
}

impl Header {
    /// Bytes on the wire.
    pub const LEN: usize = 20;

    /// As it stands on the wire.
    #[inline]
    pub fn to_bytes(&self) -> [u8; Header::LEN] {
        let mut bytes = [0; Header::LEN];
        bytes[..4].copy_from_slice(&self.message_type.code().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload_size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    ///
    /// When the message type is none.
    #[inline]
    pub fn from_bytes(bytes: &[u8; Header::LEN]) -> Result<Header, NoHeader> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let code = word(0);
        Ok(Header {
            message_type: MessageType::from_code(code).ok_or(NoHeader { code })?,
            payload_size: word(4),
            sequence: word(8),
            timestamp: u64::from(word(12)) | u64::from(word(16)) << 32,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_header_is_20_bytes_little_endian_without_padding() {
        let header = Header {
            message_type: MessageType::Homography,
            payload_size: 0x0403_0201,
            sequence: 0x0807_0605,
            timestamp: 0x100F_0E0D_0C0B_0A09,
        };
        let bytes = [3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        assert_eq!(header.to_bytes(), bytes);
        assert_eq!(Header::from_bytes(&bytes), Ok(header));
        assert_eq!(size_of::<Header>(), 24);
    }

    proptest! {
        #[test]
        fn any_20_bytes_are_a_header_that_comes_back_or_name_the_type_that_is_none(bytes: [u8; 20], code in 0_u32..5) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(&code.to_le_bytes());
            match Header::from_bytes(&bytes) {
                Ok(header) => prop_assert_eq!(header.to_bytes(), bytes),
                Err(error) => {
                    prop_assert!(!(1..=3).contains(&code));
                    prop_assert_eq!(error, NoHeader { code });
                }
            }
        }
    }
}
