//! Files of several ages, and damaged ones.

use kaldi_nnet3::{AcousticModel, Error, ForwardOptions, Ivectors, Matrix, Network, Nnet, Value, component_types};

/// A network of one component, in text.
fn file(component: &str, dim: usize) -> String {
    format!(
        "<Nnet3> \ninput-node name=input dim={dim}\ncomponent-node name=c component=c input=input\n\
         output-node name=output input=c objective=linear\n\n\
         <NumComponents> 1 \n<ComponentName> c {component} \n</Nnet3> "
    )
}

fn read(text: &str) -> Result<Nnet, Error> {
    Nnet::read(&mut text.as_bytes())
}

/// The output for one frame.
fn row(text: &str, frame: &[f32]) -> Vec<f32> {
    let features = Matrix::from_vec(1, frame.len(), frame.to_vec()).unwrap();
    let network = Network::new(&read(text).unwrap()).unwrap();
    network.compute(&features, Ivectors::None, &ForwardOptions::default()).unwrap().row_data(0).to_vec()
}

#[test]
fn components_of_several_ages_are_read_and_written() {
    let nonlinear = "<ValueAvg>  [ ]\n<DerivAvg>  [ ]\n<Count> 0 ";
    for component in [
        format!("<NoOpComponent> <Dim> 2 {nonlinear}<NumDimsProcessed> 0 </NoOpComponent>"),
        "<NoOpComponent> <Dim> 2 <BackpropScale> 1 </NoOpComponent>".to_owned(),
        format!("<RectifiedLinearComponent> <Dim> 2 {nonlinear}<SelfRepairScale> 1e-05 </RectifiedLinearComponent>"),
        format!("<RectifiedLinearComponent> <Dim> 2 <BlockDim> 1 {nonlinear}</RectifiedLinearComponent>"),
        "<NormalizeComponent> <Dim> 2 <TargetRms> 1 </NormalizeComponent>".to_owned(),
        "<NormalizeComponent> <InputDim> 2 <BlockDim> 1 <TargetRms> 1 <AddLogStddev> T </NormalizeComponent>"
            .to_owned(),
        "<DropoutComponent> <Dim> 2 <DropoutProportion> 0.5 </DropoutComponent>".to_owned(),
        "<PerElementOffsetComponent> <LearningRate> 0.001 <Offsets>  [ 1 2 ]\n</PerElementOffsetComponent>".to_owned(),
        "<PerElementScaleComponent> <Params>  [ 1 2 ]\n<IsGradient> F </PerElementScaleComponent>".to_owned(),
        "<AffineComponent> <LearningRateFactor> 2 <MaxChange> 0.75 <L2Regularize> 0.1 <LearningRate> 0.001 \
         <LinearParams>  [\n  1 0 \n  0 1 ]\n<BiasParams>  [ 0 0 ]\n<IsGradient> F </AffineComponent>"
            .to_owned(),
        "<TdnnComponent> <LearningRate> 0.001 <TimeOffsets> [ 0 ]\n<LinearParams>  [\n  1 0 \n  0 1 ]\n\
         <BiasParams>  [ ]\n<OrthonormalConstraint> 0 <UseNaturalGradient> T <NumSamplesHistory> 2000 \
         <Alpha> 4 <RankInOut> 2 2 </TdnnComponent>"
            .to_owned(),
    ] {
        let text = file(&component, 2);
        let nnet = read(&text).unwrap_or_else(|error| panic!("{component}: {error}"));
        let mut written = Vec::new();
        nnet.write(&mut written, false).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
        let mut binary = Vec::new();
        nnet.write(&mut binary, true).unwrap();
        assert_eq!(Nnet::read(&mut &binary[..]).unwrap(), nnet);
        Network::new(&nnet).unwrap_or_else(|error| panic!("{component}: {error}"));
    }
}

#[test]
fn a_column_map_may_be_a_vector() {
    let mut bytes = Vec::new();
    read(&file("<PermuteComponent> <ColumnMap> [ 1 0 2 ]\n</PermuteComponent>", 3))
        .unwrap()
        .write(&mut bytes, true)
        .unwrap();
    let start = bytes.windows(12).position(|part| part == b"<ColumnMap> ").unwrap() + 12;
    let mut old = bytes[..start].to_vec();
    old.extend(b"FV \x04\x03\0\0\0");
    // The last one was written wrongly then.
    [1.0_f32, 0.0, 0.0].iter().for_each(|column| old.extend(column.to_le_bytes()));
    old.extend(&bytes[start + 5 + 12..]);
    let nnet = Nnet::read(&mut &old[..]).unwrap();
    assert_eq!(nnet.components()[0].1.get("ColumnMap"), Some(&Value::Ints(vec![1, 0, 2])));
}

#[test]
fn functions_are_those_of_the_formulas() {
    assert_eq!(
        row(&file("<PermuteComponent> <ColumnMap> [ 1 0 2 ]\n</PermuteComponent>", 3), &[1.0, 2.0, 3.0]),
        [2.0, 1.0, 3.0]
    );
    assert_eq!(
        row(&file("<DropoutComponent> <Dim> 2 <DropoutProportion> 0.5 </DropoutComponent>", 2), &[1.0, 3.0]),
        [0.5, 1.5]
    );
    let pnorm = "<PnormComponent> <InputDim> 4 <OutputDim> 2 </PnormComponent>";
    assert_eq!(row(&file(pnorm, 4), &[3.0, 4.0, 6.0, 8.0]), [5.0, 10.0]);
    let norm = "<BatchNormComponent> <Dim> 4 <BlockDim> 2 <Epsilon> 0 <TargetRms> 2 <TestMode> F <Count> 5 \
                <StatsMean>  [ 1 2 ]\n<StatsVar>  [ 4 1 ]\n</BatchNormComponent>";
    assert_eq!(row(&file(norm, 4), &[3.0, 2.0, 1.0, 0.0]), [2.0, 0.0, 0.0, -4.0]);
}

#[test]
fn errors_name_the_component_and_the_line() {
    let message = |text: &str| match read(text).and_then(|nnet| Network::new(&nnet)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{text}"),
    };
    assert_eq!(
        message(&file("<OtherComponent> <Dim> 2 </OtherComponent>", 2)),
        "component `c` has the type OtherComponent, which is not supported"
    );
    let no_end = message(&file("<NoOpComponent> <Dim> 2 </SigmoidComponent>", 2));
    assert!(no_end.starts_with("component `c`: at byte "), "{no_end}");
    assert!(no_end.ends_with("expected </NoOpComponent>, found `</SigmoidComponent>`"), "{no_end}");
    let other_width = message(&file("<NoOpComponent> <Dim> 3 </NoOpComponent>", 2));
    assert_eq!(other_width, "node `c` has an input of 2 columns, its component `c` takes 3");
    let good = file("<NoOpComponent> <Dim> 2 </NoOpComponent>", 2);
    for (from, to, expected) in [
        ("input=c objective", "input=d objective", "`d` is neither a descriptor nor a node"),
        ("input=c objective", "input=Offset(c objective", "the descriptor ends where `,` should follow"),
        ("component=c", "component=d", "there is no component `d`"),
        ("dim=2\n", "dim=0\n", "`dim=0` is not a number from 1 to 1048576"),
        ("name=c component", "name=input component", "a node of this name stands above"),
        ("input-node name", "other-node name", "`other-node` is no kind of node"),
        ("objective=linear", "objective=cubic", "`cubic` is no objective"),
        ("objective=linear", "objetive=linear", "`objetive=` has no meaning here"),
        ("dim=2\n", "dim=2 dim=3\n", "`dim=` stands twice"),
        ("<Dim> 2", "<Dim> 2 <BackpropScale> 1e39", "expected a number, found `1e39`"),
    ] {
        let found = message(&good.replacen(from, to, 1));
        assert!(found.ends_with(expected), "{found}");
    }
    assert_eq!(message(&good.replace("name=output", "name=other")), "the network has no output node `output`");
    let twice = good
        .replace("<NumComponents> 1", "<NumComponents> 2")
        .replace("</Nnet3>", "<ComponentName> c <NoOpComponent> <Dim> 2 </NoOpComponent> \n</Nnet3>");
    assert!(message(&twice).ends_with("a component of this name stands before it"), "{}", message(&twice));
    let text_as_binary = [b"\0B".as_slice(), good.as_bytes()].concat();
    assert!(Nnet::read(&mut &text_as_binary[..]).is_err());
}

/// Networks that are small in a file, and would take gigabytes, or forever.
#[test]
fn work_that_the_file_does_not_back_is_refused() {
    let scale = "<FixedScaleComponent> <Scales>  [ 1 ]\n</FixedScaleComponent>";
    let third_index = file(scale, 1).replace("component=c input=input", "component=c input=Offset(c, 0, 1)");
    let wide = vec!["Const(0, 1048576)"; 1000].join(", ");
    let wide = file(scale, 1).replace("input=c", &format!("input=Append(c, {wide})"));
    let slots = "<RestrictedAttentionComponent> <NumHeads> 1 <KeyDim> 1 <ValueDim> 1 <NumLeftInputs> 2048 \
        <NumRightInputs> 2048 <TimeStride> 1 <NumLeftInputsRequired> 0 <NumRightInputsRequired> 0 \
        <OutputContext> F <KeyScale> 1 <StatsCount> 0 <EntropyStats>  [ ]\n<PosteriorStats> [ ]\n\
        </RestrictedAttentionComponent>";
    let slots = file(slots, 1).replace("input=input", "input=Append(input, Const(0, 4099))");
    let pairs = vec!["0,0"; 1000].join(" ");
    let weights = vec!["1"; 1000].join(" ");
    let heights = format!(
        "<TimeHeightConvolutionComponent> <LearningRate> 0.001 <Model> <ConvolutionModel> <NumFiltersIn> 1 <NumFiltersOut> 1 <HeightIn> 1 \
         <HeightOut> 1048576 <HeightSubsampleOut> 1 <Offsets> [ {pairs} ]\n<RequiredTimeOffsets> [ 0 ]\n\
         </ConvolutionModel> <LinearParams>  [\n  {weights} ]\n<BiasParams>  [ 0 ]\n<MaxMemoryMb> 200 <UseNaturalGradient> T \
         <NumMinibatchesHistory> 4 <AlphaInOut> 4 4 <RankInOut> 2 2 </TimeHeightConvolutionComponent>"
    );
    for (name, text, expected) in [
        ("third index", third_index, "third indexes"),
        ("columns", wide, "more than 1048576 columns"),
        ("rows", slots, "columns"),
        ("heights", file(&heights, 1), "heights"),
    ] {
        let found = read(&text).and_then(|nnet| Network::new(&nnet)).map(|_| ());
        assert!(found.as_ref().is_err_and(|error| error.to_string().contains(expected)), "{name}: {found:?}");
    }
}

#[test]
fn sizes_that_the_file_does_not_have_are_errors() {
    for component in [
        "<PermuteComponent> <ColumnMap> [ 1 0",
        "<CompositeComponent> <LearningRate> 0.001 <MaxRowsProcess> 10 <NumComponents> 2000000000 ",
        "<SumGroupComponent> <Sizes> [ 2000000000 2000000000 ]\n</SumGroupComponent>",
        "<DropoutMaskComponent> <OutputDim> 2000000000 <DropoutProportion> 0 </DropoutMaskComponent>",
        "<MaxpoolingComponent> <InputXDim> 100000 <InputYDim> 100000 <InputZDim> 100000 <PoolXSize> 1 <PoolYSize> 1 \
         <PoolZSize> 1 <PoolXStep> 1 <PoolYStep> 1 <PoolZStep> 1 </MaxpoolingComponent>",
        "<StatisticsPoolingComponent> <InputDim> 3 <InputPeriod> 1 <LeftContext> 2000000000 <RightContext> 0 \
         <NumLogCountFeatures> 0 <OutputStddevs> F <VarianceFloor> 1 </StatisticsPoolingComponent>",
    ] {
        assert!(read(&file(component, 2)).and_then(|nnet| Network::new(&nnet)).is_err(), "{component}");
    }
    let mut bytes = b"\0B<Nnet3> \n\n<NumComponents> \x04\xff\xff\xff\x7f".to_vec();
    assert!(Nnet::read(&mut &bytes[..]).is_err());
    bytes.truncate(bytes.len() - 4);
    bytes.extend(b"\x01\0\0\0<ComponentName> c <SumGroupComponent> <Sizes> \x04\xff\xff\xff\x7f");
    assert!(Nnet::read(&mut &bytes[..]).is_err());
}

#[test]
fn a_model_has_priors_after_its_network() {
    let text = file("<NoOpComponent> <Dim> 2 </NoOpComponent>", 2);
    let model = format!("{text}<LeftContext> 3 <RightContext> 4 <Priors>  [ 0.25 0.75 ]\n");
    let read = AcousticModel::read(&mut model.as_bytes()).unwrap();
    assert_eq!(read.priors(), [0.25, 0.75]);
    for binary in [false, true] {
        let mut written = Vec::new();
        read.write(&mut written, binary).unwrap();
        assert_eq!(AcousticModel::read(&mut &written[..]).unwrap(), read);
        if !binary {
            assert_eq!(written, model.as_bytes());
        }
    }
    assert!(AcousticModel::read(&mut text.as_bytes()).is_err());
}

#[test]
fn all_types_have_names() {
    assert!(component_types().all(|kind| kind.ends_with("Component")));
}
