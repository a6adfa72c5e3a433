//! What somebody who has not read the documentation tries first.

use recurrent::train::{Adam, AdamOptions, Linear, SgdOptions, uniform};
use recurrent::weights::ParameterStore;
use recurrent::{
    Activation, Cell, Direction, Dropout, Error, Gru, GruOptions, LodTensor, Lstm, LstmOptions, OutputGradients,
    Prepared, Recurrent, Reset, Rnn, Saved, Stack, State, Update,
};

#[test]
fn a_pass_forward_and_backward() {
    let mut gru = Gru::<f32>::zeros(2, 3);
    uniform(&mut gru, 0.5, 1);
    let x = LodTensor::from_lengths(&[2, 0, 1], 2, vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
    let (out, saved) = gru.forward(&x, Direction::Forward, None).unwrap();
    assert_eq!((out.y.lengths(), out.y.width()), (vec![2, 0, 1], 3));
    let last: &LodTensor<f32> = &out.last.h;
    assert_eq!(last.row(2), out.y.sequence(2));
    let grads = saved.backward(OutputGradients { y: Some(&out.y), ..OutputGradients::default() }).unwrap();
    assert_eq!((grads.x.lengths(), grads.x.width()), (vec![2, 0, 1], 2));
}

#[cfg(feature = "serde")]
#[test]
fn options_are_read_and_written() {
    let gru: GruOptions = serde_json::from_str(r#"{"reset": "Before", "update": "New"}"#).unwrap();
    assert_eq!(gru, GruOptions::default().with_reset(Reset::Before).with_update(Update::New));
    let lstm = LstmOptions::default().with_cell_clip(Some(50.0)).with_cell_activation(Activation::Relu);
    assert_eq!(serde_json::from_str::<LstmOptions>(&serde_json::to_string(&lstm).unwrap()).unwrap(), lstm);
    assert!(serde_json::from_str::<LstmOptions>(r#"{"clip": 50.0}"#).is_err());
    let adam: AdamOptions = serde_json::from_str(r#"{"learning_rate": 0.5}"#).unwrap();
    assert_eq!(adam, AdamOptions::default().with_learning_rate(0.5));
    assert_eq!(serde_json::from_str::<SgdOptions>("{}").unwrap(), SgdOptions::default());
    let dropout: Dropout = serde_json::from_str(r#"{"probability": 0.25, "seed": 7}"#).unwrap();
    assert_eq!(dropout, Dropout { probability: 0.25, seed: 7 });
    assert!(serde_json::from_str::<Dropout>(r#"{"probability": 0.25}"#).is_err());
    assert_eq!(serde_json::from_str::<Direction>(r#""Reverse""#).unwrap(), Direction::Reverse);
}

#[test]
fn public_types_are_send_and_sync() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<Rnn<f32>>();
        send_and_sync::<Lstm<f32>>();
        send_and_sync::<Gru<f32>>();
        send_and_sync::<Stack<Lstm<f32>>>();
        send_and_sync::<Prepared<f32>>();
        send_and_sync::<State<f32>>();
        send_and_sync::<Recurrent>();
        send_and_sync::<Linear<f32>>();
        send_and_sync::<Adam<f32>>();
        send_and_sync::<ParameterStore<f32>>();
        send_and_sync::<GruOptions>();
        send_and_sync::<LstmOptions>();
        send_and_sync::<SgdOptions>();
        send_and_sync::<AdamOptions>();
        send_and_sync::<Dropout>();
        send_and_sync::<Reset>();
        send_and_sync::<Update>();
        send_and_sync::<Activation>();
        send_and_sync::<Error>();
    };
}
