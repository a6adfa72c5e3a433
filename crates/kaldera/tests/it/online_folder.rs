//! A Vosk folder as small as can be, for the tests of the library and of the command: it hears low
//! and high tones between pauses as words.

use std::f64::consts::TAU;
use std::fs;
use std::path::Path;

/// The sample rate of the model, in Hz.
pub(crate) const RATE: u32 = 8000;

/// Silence, a low tone and a high tone, each in one state with a loop, as in chain models.
const TRANSITIONS: &str = "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 3 </ForPhones> \
    <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> \
    </Topology> <Triples> 3 1 0 0 2 0 1 3 0 2 </Triples> <LogProbs> [ 0 -1 -1 -1 -1 -1 -1 ] </LogProbs> \
    </TransitionModel>\n";

/// The energies of the lowest and the highest band decide; silence has little of both.
const NETWORK: &str = "<Nnet3>\ninput-node name=input dim=4\n\
    component-node name=output.affine component=output.affine input=input\n\
    output-node name=output input=output.affine objective=linear\n\n\
    <NumComponents> 1\n<ComponentName> output.affine <FixedAffineComponent> <LinearParams> [\n\
    0 0 0 0\n1 0 0 0\n0 0 0 1 ]\n<BiasParams> [ 0 -14 -16 ]\n</FixedAffineComponent>\n</Nnet3>\n\
    <LeftContext> 0 <RightContext> 0 <Priors> [ ]\n";

/// The arcs of each state of the graph: transition identifier, word, cost, next state. Each word
/// begins with the forward transition of its phone, and loops stay in the phone.
const GRAPH: [&[(i32, i32, f32, i32)]; 4] = [
    &[(2, 0, 0.0, 1), (4, 1, 2.0, 2), (6, 2, 2.0, 3)],
    &[(1, 0, 0.1, 1), (4, 1, 2.0, 2), (6, 2, 2.0, 3)],
    &[(3, 0, 0.1, 2), (2, 0, 0.1, 1)],
    &[(5, 0, 0.1, 3), (2, 0, 0.1, 1)],
];

/// Writes the files of the model in a folder.
pub(crate) fn write(folder: &Path) {
    let file = |name: &str, contents: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    };
    file("am/final.mdl", format!("{TRANSITIONS}{NETWORK}").as_bytes());
    let decoding = "--acoustic-scale=1.0\n--frame-subsampling-factor=3\n--endpoint.silence-phones=1\n\
                    --endpoint.rule2.min-trailing-silence=0.5\n";
    file("conf/model.conf", decoding.as_bytes());
    file("conf/fbank.conf", format!("--sample-frequency={RATE}\n--num-mel-bins=4\n").as_bytes());
    file("graph/HCLG.fst", &fst(&GRAPH));
    file("graph/words.txt", b"<eps> 0\nlow 1\nhigh 2\n");
    file("graph/phones/word_boundary.int", b"1 nonword\n2 singleton\n3 singleton\n");
}

/// Returns a graph in the binary form of OpenFst; each state is final.
pub(crate) fn fst(graph: &[&[(i32, i32, f32, i32)]]) -> Vec<u8> {
    let mut bytes = 2_125_659_606_i32.to_le_bytes().to_vec();
    for name in ["vector", "standard"] {
        bytes.extend(i32::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    // Version, flags, properties, start, states, arcs.
    bytes.extend([2_i32, 0].map(i32::to_le_bytes).concat());
    let arcs: i64 = graph.iter().map(|arcs| arcs.len() as i64).sum();
    bytes.extend([0, 0, graph.len() as i64, arcs].map(i64::to_le_bytes).concat());
    for arcs in graph {
        bytes.extend(0.0_f32.to_le_bytes());
        bytes.extend((arcs.len() as i64).to_le_bytes());
        for (label, word, cost, next) in *arcs {
            bytes.extend([label.to_le_bytes(), word.to_le_bytes(), cost.to_le_bytes(), next.to_le_bytes()].concat());
        }
    }
    bytes
}

/// Returns samples of what is said: `low` and `high` for 0.3 s each, and pauses in seconds, such as
/// `"0.2 low 0.6 high"`, with a faint noise.
pub(crate) fn speech(said: &str, rate: u32) -> Vec<i16> {
    let mut samples: Vec<i16> = vec![];
    for part in said.split_whitespace() {
        let (frequency, seconds) = match part {
            "low" => (300.0, 0.3),
            "high" => (2500.0, 0.3),
            pause => (0.0, pause.parse().unwrap()),
        };
        let count = (f64::from(rate) * seconds).round() as u32;
        samples.extend((0..count).map(|i| {
            let noise = f64::from(i.wrapping_mul(2_654_435_761) >> 30) - 1.5;
            ((TAU * frequency * f64::from(i) / f64::from(rate)).sin() * 5000.0 + noise).round() as i16
        }));
    }
    samples
}

/// Returns a weight of the speaker model.
pub(crate) fn weight(row: usize, col: usize) -> f64 {
    ((row * 31 + col * 17 + 5) % 13) as f64 / 8.0 - 0.75
}

/// Returns a matrix of [`weight`]s as text.
pub(crate) fn weights(rows: usize, cols: usize) -> String {
    let row = |row| (0..cols).map(|col| format!(" {}", weight(row, col))).collect::<String>();
    format!("[{} ]\n", (0..rows).map(|r| format!("\n{}", row(r))).collect::<String>())
}

/// Writes the files of a speaker model in a folder. As in Vosk's, the network's last layers are
/// left over from its training.
pub(crate) fn write_speakers(folder: &Path) {
    let affine = |name: &str, rows: usize, cols: usize| {
        let biases: String = (0..rows).map(|row| format!(" {}", weight(row, cols))).collect();
        let weights = weights(rows, cols);
        format!(
            "<ComponentName> {name} <FixedAffineComponent> <LinearParams> {weights}\
             <BiasParams> [{biases} ]\n</FixedAffineComponent>\n"
        )
    };
    let network = format!(
        "<Nnet3>\ninput-node name=input dim=4\n\
         component-node name=frame component=frame input=Append(Offset(input, -1), input, Offset(input, 1))\n\
         component-node name=extraction component=extraction input=frame\n\
         component-node name=pooling component=pooling input=extraction\n\
         component-node name=segment component=segment input=Round(pooling, 1)\n\
         component-node name=last component=last input=segment\n\
         output-node name=output input=segment objective=linear\n\n<NumComponents> 5\n{}\
         <ComponentName> extraction <StatisticsExtractionComponent> <InputDim> 3 <InputPeriod> 1 \
         <OutputPeriod> 1 <IncludeVarinance> T </StatisticsExtractionComponent>\n\
         <ComponentName> pooling <StatisticsPoolingComponent> <InputDim> 7 <InputPeriod> 1 <LeftContext> 0 \
         <RightContext> 10000 <NumLogCountFeatures> 0 <OutputStddevs> T <VarianceFloor> 1e-10 \
         </StatisticsPoolingComponent>\n{}{}</Nnet3>\n",
        affine("frame", 3, 12),
        affine("segment", 5, 6),
        affine("last", 2, 5),
    );
    let mean: String = (0..5).map(|i| format!(" {}", weight(i, 40))).collect();
    let mfcc = format!("--sample-frequency={RATE}\n--num-mel-bins=4\n--num-ceps=4\n");
    fs::create_dir_all(folder).unwrap();
    for (name, text) in [
        ("mfcc.conf", mfcc),
        ("final.ext.raw", network),
        ("mean.vec", format!("[{mean} ]\n")),
        ("transform.mat", weights(3, 5)),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}
