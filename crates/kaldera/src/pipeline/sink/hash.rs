//! A hash that is the same in every version and on every machine.

/// FNV-1a in 128 bits, over parts and their lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    pub(super) fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(part) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    pub(super) fn add_number(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.add(&number.to_le_bytes()),
            None => self.add(&[]),
        }
    }

    pub(super) fn finish(self) -> u128 {
        self.0
    }

    /// Half of it.
    pub(super) fn short(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.to_le_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
