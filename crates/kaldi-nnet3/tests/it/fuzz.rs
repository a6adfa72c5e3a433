//! Damaged networks: errors may come of them, and nothing worse. How to search longer stands in
//! `kaldera-fuzz`.

use std::sync::Arc;

use kaldera_fuzz::fuzz;
use kaldi_nnet3::{AcousticModel, ForwardOptions, Ivectors, LoopedNetwork, LoopedOptions, Matrix, Network, Nnet};

#[test]
fn networks() {
    fuzz!("nnet3", |bytes| {
        let _ = AcousticModel::read(&mut &bytes[..]);
        let Ok(nnet) = Nnet::read(&mut &bytes[..]) else { return };
        for binary in [true, false] {
            let mut written = Vec::new();
            nnet.write(&mut written, binary).unwrap();
            if let (true, Ok(again)) = (binary, Nnet::read(&mut &written[..])) {
                let mut twice = Vec::new();
                again.write(&mut twice, binary).unwrap();
                assert_eq!(written, twice);
            }
        }
        let Ok(network) = Network::new(&nnet) else { return };
        if network.input_dim() > 1000 || network.output_dim() > 100_000 {
            return;
        }
        let features = Matrix::from_fn(4, network.input_dim(), |t, k| (t + k) as f32);
        let ivector = vec![0.5; network.ivector_dim().unwrap_or(0).min(1000)];
        let ivectors = if ivector.is_empty() { Ivectors::None } else { Ivectors::One(&ivector) };
        if network.left_context() + network.right_context() < 1000 && network.modulus() < 1000 {
            let _ = network.compute(&features, ivectors, &ForwardOptions::default());
            if let Ok(looped) = LoopedNetwork::new(&nnet, &LoopedOptions::default().with_frames_per_chunk(2)) {
                let mut stream = Arc::new(looped).stream();
                if stream.accept(&features, &ivector).is_ok() {
                    stream.finish(&ivector).unwrap();
                    assert_eq!(stream.num_output_rows(), 4);
                }
            }
        }
    });
}
