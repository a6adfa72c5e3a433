//! Streams and batches of them beside whole utterances.

use std::fmt::Write;
use std::sync::Arc;

use kaldi_nnet3::{ForwardOptions, Ivectors, LoopedNetwork, LoopedOptions, Matrix, Network, Nnet, Stream};
use proptest::prelude::*;

const INPUTS: usize = 3;

/// Values that are different everywhere.
fn number(seed: usize) -> f32 {
    ((seed * 7919 + 13) % 1009) as f32 / 504.5 - 1.0
}

fn matrix(text: &mut String, rows: usize, cols: usize, seed: usize) {
    text.push_str(" [");
    for row in 0..rows {
        text.push_str("\n  ");
        (0..cols).for_each(|col| write!(text, "{} ", number(seed + row * cols + col)).unwrap());
    }
    text.push_str("]\n");
}

/// A layer of the network: the offsets of its frames, and whether a residual goes around it.
type LayerShape = (Vec<i32>, bool);

/// A network of time-delay layers with rectifiers, in text.
fn tdnn(layers: &[LayerShape]) -> Nnet {
    const WIDTH: usize = 5;
    let mut lines = format!("<Nnet3> \ninput-node name=input dim={INPUTS}\n");
    let mut components = String::new();
    let (mut input, mut width) = ("input".to_owned(), INPUTS);
    for (i, (offsets, residual)) in layers.iter().enumerate() {
        let seed = 100 * i;
        writeln!(lines, "component-node name=t{i} component=t{i} input={input}").unwrap();
        writeln!(lines, "component-node name=r{i} component=r{i} input=t{i}").unwrap();
        write!(components, "<ComponentName> t{i} <TdnnComponent> <LearningRate> 0.001 <TimeOffsets> [ ").unwrap();
        offsets.iter().for_each(|offset| write!(components, "{offset} ").unwrap());
        components.push_str("]\n<LinearParams> ");
        matrix(&mut components, WIDTH, width * offsets.len(), seed);
        components.push_str("<BiasParams>  [ 0.1 -0.2 0.3 0 0.5 ]\n<OrthonormalConstraint> 0 <UseNaturalGradient> T ");
        components.push_str("<NumSamplesHistory> 2000 <AlphaInOut> 4 4 <RankInOut> 2 2 </TdnnComponent> \n");
        writeln!(components, "<ComponentName> r{i} <RectifiedLinearComponent> <Dim> {WIDTH} <ValueAvg>  [ ]").unwrap();
        components.push_str("<DerivAvg>  [ ]\n<Count> 0 </RectifiedLinearComponent> \n");
        input = match *residual && i > 0 {
            true => format!("Sum(Scale(0.66, r{}), r{i})", i - 1),
            false => format!("r{i}"),
        };
        width = WIDTH;
    }
    writeln!(lines, "output-node name=output input={input} objective=linear\n").unwrap();
    let text = format!("{lines}<NumComponents> {} \n{components}</Nnet3> ", 2 * layers.len());
    Nnet::read(&mut text.as_bytes()).unwrap()
}

fn features(frames: usize, seed: usize) -> Matrix<f32> {
    Matrix::from_fn(frames, INPUTS, |t, k| number(seed + 31 * t + k))
}

fn layers() -> impl Strategy<Value = Vec<LayerShape>> {
    let offsets = proptest::collection::btree_set(-4_i32..5, 1..4).prop_map(|set| set.into_iter().collect());
    proptest::collection::vec((offsets, any::<bool>()), 1..5)
}

/// Feeds an utterance in pieces.
fn pieces(stream: &mut Stream, features: &Matrix<f32>, sizes: &[usize]) -> Vec<f32> {
    let (mut at, mut rows) = (0, Vec::new());
    for &size in sizes.iter().cycle() {
        let size = size.min(features.num_rows() - at);
        let piece = Matrix::from_fn(size, INPUTS, |t, k| features[(at + t, k)]);
        rows.extend(stream.accept(&piece, &[]).unwrap().rows().flatten());
        at += size;
        if at == features.num_rows() {
            break;
        }
    }
    rows.extend(stream.finish(&[]).unwrap().rows().flatten());
    rows
}

/// A row of a layer by its definition: row `t` of layer `layer` of [`tdnn`], with the features
/// before layer 0.
fn defined(layers: &[LayerShape], features: &Matrix<f32>, layer: usize, t: i32) -> Vec<f64> {
    let row = |layer: usize, t: i32| -> Vec<f64> {
        if layer > 0 {
            return defined(layers, features, layer - 1, t);
        }
        let last = i32::try_from(features.num_rows()).unwrap() - 1;
        let frame = usize::try_from(t.clamp(0, last)).unwrap();
        features.row_data(frame).iter().map(|&x| x.into()).collect()
    };
    let (offsets, _) = &layers[layer];
    let x: Vec<f64> = offsets
        .iter()
        .flat_map(|&offset| match layer > 0 && layers[layer - 1].1 && layer > 1 {
            // The input of this layer is a sum.
            true => {
                let (first, second) = (row(layer - 1, t + offset), row(layer, t + offset));
                first.iter().zip(second).map(|(a, b)| 0.66_f32 as f64 * a + b).collect()
            }
            false => row(layer, t + offset),
        })
        .collect();
    const BIAS: [f64; 5] = [0.1, -0.2, 0.3, 0.0, 0.5];
    let weight = |row: usize, col: usize| f64::from(number(100 * layer + row * x.len() + col));
    let sum = |row: usize| BIAS[row] + x.iter().enumerate().map(|(col, x)| weight(row, col) * x).sum::<f64>();
    (0..5).map(|row| sum(row).max(0.0)).collect()
}

proptest! {
    #[test]
    fn rows_are_as_the_layers_define_them(
        layers in proptest::collection::vec(
            (proptest::collection::btree_set(-4_i32..5, 1..4).prop_map(|set| set.into_iter().collect()), any::<bool>()),
            1..4,
        ),
        frames in 1_usize..8,
    ) {
        const TOLERANCE: f64 = 1e-5;
        let features = features(frames, 5);
        let network = Network::new(&tdnn(&layers)).unwrap();
        let output = network.compute(&features, Ivectors::None, &ForwardOptions::default()).unwrap();
        let last = layers.len() - 1;
        for (t, row) in output.rows().enumerate() {
            let t = i32::try_from(t).unwrap();
            let mut expected = defined(&layers, &features, last, t);
            if layers[last].1 && last > 0 {
                let before = defined(&layers, &features, last - 1, t);
                expected.iter_mut().zip(before).for_each(|(y, x)| *y += 0.66_f32 as f64 * x);
            }
            for (expected, &came) in expected.iter().zip(row) {
                let bound = TOLERANCE * (expected.abs() + 10.0);
                prop_assert!((expected - f64::from(came)).abs() <= bound, "{expected} {came} at {t}");
            }
        }
    }

    #[test]
    fn a_stream_gives_the_bits_of_the_whole(
        layers in layers(),
        frames in 1_usize..60,
        (chunk, step) in (1_usize..12, 1_usize..4),
        sizes in proptest::collection::vec(1_usize..20, 1..5),
    ) {
        let nnet = tdnn(&layers);
        let features = features(frames, 5);
        let options = ForwardOptions::default().with_frame_subsampling_factor(step).with_frames_per_chunk(600);
        let whole = Network::new(&nnet).unwrap().compute(&features, Ivectors::None, &options).unwrap();
        prop_assert_eq!(whole.num_rows(), frames.div_ceil(step));
        let whole: Vec<f32> = whole.rows().flatten().copied().collect();
        let options = LoopedOptions::default().with_frame_subsampling_factor(step).with_frames_per_chunk(chunk);
        let network = Arc::new(LoopedNetwork::new(&nnet, &options).unwrap());
        prop_assert_eq!(pieces(&mut network.stream(), &features, &sizes), whole);
    }

    #[test]
    fn streams_in_a_batch_give_their_own_bits(
        layers in layers(),
        frames in proptest::collection::vec(0_usize..40, 1..5),
        chunk in 1_usize..12,
    ) {
        let nnet = tdnn(&layers);
        let options = LoopedOptions::default().with_frames_per_chunk(chunk);
        let network = Arc::new(LoopedNetwork::new(&nnet, &options).unwrap());
        let mut streams: Vec<Stream> = frames.iter().map(|_| network.stream()).collect();
        let inputs: Vec<_> = frames.iter().enumerate().map(|(i, &frames)| features(frames, 1000 * i)).collect();
        // The last ones begin later.
        for late in 0..streams.len() {
            streams[late].push(&inputs[late]).unwrap();
            streams[late].end();
            network.advance(&mut streams.iter_mut().collect::<Vec<_>>(), &[]).unwrap();
        }
        while network.advance(&mut streams.iter_mut().collect::<Vec<_>>(), &[]).unwrap() > 0 {}
        for (stream, features) in streams.iter_mut().zip(&inputs) {
            let mut alone = network.stream();
            let mut expected: Vec<f32> = alone.accept(features, &[]).unwrap().rows().flatten().copied().collect();
            expected.extend(alone.finish(&[]).unwrap().rows().flatten());
            let came: Vec<f32> = stream.take_output().rows().flatten().copied().collect();
            prop_assert_eq!(came, expected);
        }
    }
}

#[test]
fn a_block_has_the_ivector_of_the_chunk_in_which_it_came_in() {
    // A frame, two frames later, and an i-vector of one number.
    let text = "<Nnet3> \ninput-node name=input dim=1\ninput-node name=ivector dim=1\n\
        component-node name=c component=c input=Append(Offset(input, 2), ReplaceIndex(ivector, t, 0))\n\
        output-node name=output input=c objective=linear\n\n\
        <NumComponents> 1 \n<ComponentName> c <NoOpComponent> <Dim> 2 <BackpropScale> 1 </NoOpComponent> \n</Nnet3> ";
    let nnet = Nnet::read(&mut text.as_bytes()).unwrap();
    let network = Arc::new(LoopedNetwork::new(&nnet, &LoopedOptions::default().with_frames_per_chunk(4)).unwrap());
    let mut stream = network.stream();
    assert_eq!(stream.frames_to_chunk(), 6);
    stream.push(&Matrix::from_fn(13, 1, |t, _| t as f32)).unwrap();
    assert!(network.advance(&mut [&mut stream], &[]).is_err(), "without an i-vector");
    stream.end();
    let mut chunk = 0.0;
    while stream.ready() {
        chunk += 1.0;
        assert_eq!(network.advance(&mut [&mut stream], &[&[chunk][..]]).unwrap(), 1);
    }
    let output = stream.take_output();
    let column = |column: usize| output.rows().map(|row| row[column]).collect::<Vec<_>>();
    // Frames 12 and later are copies of the last.
    assert_eq!(column(0), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 12.0, 12.0]);
    // The second block begins with frame 4, which the first chunk has as its right context.
    assert_eq!(column(1), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
    // One i-vector for all in a whole utterance.
    let features = Matrix::from_fn(3, 1, |t, _| t as f32);
    let whole = Network::new(&nnet).unwrap();
    let rows = whole.compute(&features, Ivectors::One(&[7.0]), &ForwardOptions::default()).unwrap();
    assert_eq!(rows, Matrix::from_vec(3, 2, vec![2.0, 7.0, 2.0, 7.0, 2.0, 7.0]).unwrap());
    assert!(whole.compute(&features, Ivectors::None, &ForwardOptions::default()).is_err());
}

#[test]
fn a_stream_without_frames_has_no_rows() {
    let network = Arc::new(LoopedNetwork::new(&tdnn(&[(vec![0], false)]), &LoopedOptions::default()).unwrap());
    let mut stream = network.stream();
    assert_eq!(stream.finish(&[]).unwrap().num_rows(), 0);
    let mut stream = network.stream();
    assert!(stream.accept(&Matrix::zeros(2, INPUTS + 1), &[]).is_err());
    stream.accept(&features(1, 0), &[]).unwrap();
    assert_eq!(stream.finish(&[]).unwrap().num_rows(), 1);
    assert!(stream.accept(&features(1, 0), &[]).is_err(), "after its end");
}
