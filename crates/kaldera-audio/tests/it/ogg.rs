//! Ogg files that are changed.

/// Sets the checksum of each whole page to what it should be.
pub(crate) fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut begin = 0;
    while let Some(header) = bytes.get(begin..begin + 27).filter(|header| header.starts_with(b"OggS")) {
        let num_segments = usize::from(header[26]);
        let Some(lengths) = bytes.get(begin + 27..begin + 27 + num_segments) else { break };
        let end = begin + 27 + num_segments + lengths.iter().map(|&len| usize::from(len)).sum::<usize>();
        let Some(page) = bytes.get_mut(begin..end) else { break };
        page[22..26].fill(0);
        let crc = page.iter().fold(0_u32, |crc, &byte| {
            let step = |crc: u32, _| if crc >> 31 == 1 { crc << 1 ^ 0x04C1_1DB7 } else { crc << 1 };
            (0..8).fold(crc ^ u32::from(byte) << 24, step)
        });
        page[22..26].copy_from_slice(&crc.to_le_bytes());
        begin = end;
    }
    bytes
}
