//! Protocol buffers as far as the exports need them; four rules of the encoding are enough
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// A message being written.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A variable-length integer: seven bits per byte, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// An integer field: wire type 0.
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// An integer of eight bytes: wire type 1.
    pub(super) fn fixed(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes with their length before them: wire type 2.
    pub(super) fn bytes_field(mut self, field: u32, bytes: &[u8]) -> Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// A text.
    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes_field(field, text.as_bytes())
    }

    /// A message inside.
    pub(super) fn inside(self, field: u32, message: &Message) -> Message {
        self.bytes_field(field, &message.0)
    }

    /// Repeated integers, packed.
    pub(super) fn packed(self, field: u32, values: &[u64]) -> Message {
        let mut inside = Message::default();
        for value in values {
            inside.varint(*value);
        }
        self.inside(field, &inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_s_examples() {
        assert_eq!(Message::default().number(1, 150).bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").bytes(), b"\x12\x07testing");
        let inside = Message::default().number(1, 150);
        assert_eq!(Message::default().inside(3, &inside).bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().packed(6, &[3, 270, 86942]).bytes(), b"\x32\x06\x03\x8E\x02\x9E\xA7\x05");
        assert_eq!(Message::default().fixed(1, 1).bytes(), [0x09, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
