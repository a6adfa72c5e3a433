use proptest::prelude::*;

use super::*;
use crate::tensor::Tensor;

/// The bytes that NumPy 2.4.6 wrote for `np.save(f, np.arange(6, dtype='<i2').reshape(2, 3))`.
fn numpy_file() -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }".to_vec();
    file.resize(127, b' ');
    file.push(b'\n');
    file.extend((0_u8..6).flat_map(|x| [x, 0]));
    file
}

/// A file of version 1 with this header.
fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.bytes());
    file.extend(data);
    file
}

#[test]
fn files_equal_those_of_numpy() {
    let x = Tensor::from_vec([2, 3], (0_i16..6).collect::<Vec<_>>()).unwrap();
    let mut file = Vec::new();
    x.write_npy(&mut file).unwrap();
    assert_eq!(file, numpy_file());
    assert_eq!(Tensor::<i16>::read_npy(&file[..]).unwrap(), x);
}

#[test]
fn versions_orders_and_ends_are_read() {
    let header = "{'shape': (2L, 2), \"fortran_order\": True, 'descr': '>u2'}";
    let data = [0, 1, 0, 2, 1, 3, 0, 4];
    let wanted = Tensor::from_vec([2, 2], vec![1_u16, 259, 2, 4]).unwrap();
    let one = with_header(header, &data);
    assert_eq!(Tensor::<u16>::read_npy(&one[..]).unwrap(), wanted);
    for version in [2, 3] {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        file.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.bytes());
        file.extend(data);
        let read = Tensor::<u16>::read_npy(&file[..]).unwrap();
        assert_eq!((&read, read.layout().is_fortran()), (&wanted, true));
    }
}

#[test]
fn numbers_of_all_real_types_become_single_precision() {
    let read = |kind: &str, data: &[u8]| {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2,), }}");
        Tensor::read_npy_as_f32(&with_header(&header, data)[..]).map(|x| x.iter().copied().collect::<Vec<f32>>())
    };
    let is = |kind: &str, data: &[u8], expected: [f32; 2]| assert_eq!(read(kind, data).unwrap(), expected, "{kind}");
    is("|b1", &[0, 3], [0.0, 1.0]);
    is("|i1", &[0xff, 5], [-1.0, 5.0]);
    is("|u1", &[0xff, 5], [255.0, 5.0]);
    is(">i2", &[0xff, 0xfe, 0, 5], [-2.0, 5.0]);
    is("<u2", &[0xff, 0xff, 5, 0], [65_535.0, 5.0]);
    is("<i4", &[-3_i32, 1 << 30].map(i32::to_le_bytes).concat(), [-3.0, 1_073_741_824.0]);
    is("<u4", &[u32::MAX, 1].map(u32::to_le_bytes).concat(), [4_294_967_296.0, 1.0]);
    is("<i8", &[-3_i64, 1 << 40].map(i64::to_le_bytes).concat(), [-3.0, 1_099_511_627_776.0]);
    is(">u8", &[3_u64, 0].map(u64::to_be_bytes).concat(), [3.0, 0.0]);
    is("<f4", &[0.1_f32, -0.0].map(f32::to_le_bytes).concat(), [0.1, -0.0]);
    is(">f8", &[0.1_f64, 1e300].map(f64::to_be_bytes).concat(), [0.1, f32::INFINITY]);
    // As numpy has them: the largest, the smallest below and above 2^-14, a third, the infinities.
    for (half, expected) in [
        (0x7bff_u16, 65_504.0_f32),
        (0x0001, 5.960_464_5e-8),
        (0x83ff, -6.097_555e-5),
        (0x0400, 6.103_515_6e-5),
        (0x3555, 0.333_251_95),
        (0xfc00, f32::NEG_INFINITY),
        (0x7c00, f32::INFINITY),
    ] {
        is("<f2", &[half, 0x8000].map(u16::to_le_bytes).concat(), [expected, -0.0]);
    }
    assert!(read("<f2", &[0x7e01_u16, 0].map(u16::to_le_bytes).concat()).unwrap()[0].is_nan());
    assert!(matches!(read("<c8", &[0; 16]), Err(NpyError::Type { .. })));
    assert!(matches!(read("<f8", &[0; 15]), Err(NpyError::Truncated { expected: 16, found: 15 })));
}

#[test]
fn errors_have_positions() {
    let problem = |header: &str| match Tensor::<f32>::read_npy(&with_header(header, &[])[..]) {
        Err(NpyError::Header { position, problem }) => (position, problem.to_string()),
        other => panic!("{header}: {other:?}"),
    };
    let with_shape = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    assert_eq!(problem(""), (0, "it ends here".into()));
    assert_eq!(problem("[]"), (0, "a dictionary is expected".into()));
    assert_eq!(problem("{'descr': '<f4'"), (15, "it ends here".into()));
    assert_eq!(problem("{'descr': '<f4'}"), (16, "the key 'fortran_order' is missing".into()));
    assert_eq!(problem("{'colour': 1}"), (1, "the key 'colour' is unknown".into()));
    assert_eq!(problem("{'descr': '<f4', 'descr': '<f4'}").1, "the key 'descr' stands twice");
    assert_eq!(problem("{'descr': '|O'}"), (10, "elements of type '|O' cannot be read".into()));
    assert_eq!(problem("{'descr': [('x', '<f4')]}").1, "elements of type '[('x', '<f4')]}' cannot be read");
    assert_eq!(problem("{'fortran_order': 1}"), (18, "True or False is expected".into()));
    assert_eq!(problem(&with_shape("(3)")).1, "a comma is expected");
    assert_eq!(problem(&with_shape("(-3,)")).1, "a length that fits in memory is expected");
    assert_eq!(problem(&with_shape("(99999999999999999999,)")).1, "a length that fits in memory is expected");
    assert_eq!(problem("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x").1, "the end is expected");
}

#[test]
fn claims_without_bytes_take_no_memory() {
    let claims = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        Tensor::<f64>::read_npy(&with_header(&header, &[0; 20])[..])
    };
    let huge = claims("(1152921504606846975,)");
    assert!(matches!(huge, Err(NpyError::Truncated { found: 20, .. })), "{huge:?}");
    assert!(matches!(claims("(4611686018427387904, 4)"), Err(NpyError::Shape(Error::TooLarge { .. }))));
    assert!(matches!(claims("(0, 4611686018427387904, 4)"), Err(NpyError::Shape(Error::TooLarge { .. }))));
    assert_eq!(claims("(0, 3)").unwrap().shape(), [0, 3]);
    assert_eq!(claims("()").unwrap().shape(), []);
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(matches!(Tensor::<f64>::read_npy(&long[..]), Err(NpyError::HeaderTooLong { .. })));
}

#[test]
fn another_type_is_refused() {
    let refused = Tensor::<f32>::read_npy(&numpy_file()[..]);
    assert_eq!(refused.unwrap_err().to_string(), "the elements are i2, not f4");
    assert!(matches!(Tensor::<f32>::read_npy(&b"RIFF...."[..]), Err(NpyError::NotNpy)));
    assert!(matches!(
        Tensor::<f32>::read_npy(&b"\x93NUMPY\x04\x00"[..]),
        Err(NpyError::Version { major: 4, minor: 0 })
    ));
}

#[test]
fn all_types_come_back() {
    fn there_and_back<T: NpyElement + PartialEq + std::fmt::Debug>(elements: Vec<T>) {
        let x = Tensor::from_elements(elements);
        let mut file = Vec::new();
        x.write_npy(&mut file).unwrap();
        assert_eq!(file.len() % 64, size_of_val(&x.to_vec()[..]) % 64);
        assert_eq!(Tensor::<T>::read_npy(&file[..]).unwrap(), x);
    }
    there_and_back(vec![true, false]);
    there_and_back(vec![i8::MIN, 7]);
    there_and_back(vec![u64::MAX, 7]);
    there_and_back(vec![f32::MIN_POSITIVE, -0.0]);
    there_and_back(vec![[1.5_f32, -2.0], [0.0, f32::INFINITY]]);
    there_and_back(vec![[1.5_f64, -2.0]]);
    there_and_back(vec![3_i64; 20_000]);
}

#[test]
fn a_header_of_thousands_of_axes_is_of_version_2() {
    let x = Tensor::full(vec![1; 30_000], 7_u8).unwrap();
    let mut file = Vec::new();
    x.write_npy(&mut file).unwrap();
    assert_eq!(file[6], 2);
    assert_eq!(Tensor::<u8>::read_npy(&file[..]).unwrap(), x);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..160, byte: u8) {
        let _ = Tensor::<i16>::read_npy(&bytes[..]);
        // One wrong byte in a good file, and a good file cut short.
        let mut file = numpy_file();
        file.truncate(at);
        let _ = Tensor::<i16>::read_npy(&file[..]);
        let mut file = numpy_file();
        if let Some(found) = file.get_mut(at) {
            *found = byte;
        }
        let _ = Tensor::<i16>::read_npy(&file[..]);
    }
}
