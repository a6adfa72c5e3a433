//! Bytes in the alphabet of RFC 4648, with padding.

use crate::Stop;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let four = |three: &[u8]| {
        let bits = three.iter().chain(&[0; 3]).take(3).fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        let letter = move |i: usize| ALPHABET[(bits >> (18 - 6 * i) & 63) as usize].into();
        let letters = three.len() + 1;
        (0..4).map(move |i| if i < letters { letter(i) } else { '=' })
    };
    bytes.chunks(3).flat_map(four).collect()
}

pub(crate) fn decode(text: &str) -> Result<Vec<u8>, Stop> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0, 0);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = ALPHABET.iter().position(|&known| known == letter);
        let damaged = || Stop::Damaged(format!("the case itself is damaged: byte {letter} in base64"));
        (bits, count) = (bits << 6 | value.ok_or_else(damaged)?, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count)?);
            bits &= (1 << count) - 1;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        let texts = ["", "f", "fo", "foo", "foob"];
        assert_eq!(texts.map(|text| encode(text.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
        assert!(texts.iter().all(|text| decode(&encode(text.as_bytes())).unwrap() == text.as_bytes()));
    }
}
