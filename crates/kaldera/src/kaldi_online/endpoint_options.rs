//! The options of endpoint rules.

use kaldera_decoder::graph::{EndpointRule, EndpointRules};
use kaldi_feat::options::Registry;

/// Names of the conditions of the five rules.
const RULES: [[&str; 4]; 5] = [
    [
        "endpoint.rule1.must-contain-nonsilence",
        "endpoint.rule1.min-trailing-silence",
        "endpoint.rule1.max-relative-cost",
        "endpoint.rule1.min-utterance-length",
    ],
    [
        "endpoint.rule2.must-contain-nonsilence",
        "endpoint.rule2.min-trailing-silence",
        "endpoint.rule2.max-relative-cost",
        "endpoint.rule2.min-utterance-length",
    ],
    [
        "endpoint.rule3.must-contain-nonsilence",
        "endpoint.rule3.min-trailing-silence",
        "endpoint.rule3.max-relative-cost",
        "endpoint.rule3.min-utterance-length",
    ],
    [
        "endpoint.rule4.must-contain-nonsilence",
        "endpoint.rule4.min-trailing-silence",
        "endpoint.rule4.max-relative-cost",
        "endpoint.rule4.min-utterance-length",
    ],
    [
        "endpoint.rule5.must-contain-nonsilence",
        "endpoint.rule5.min-trailing-silence",
        "endpoint.rule5.max-relative-cost",
        "endpoint.rule5.min-utterance-length",
    ],
];

/// Adds the options of the five rules, under Kaldi's names: `endpoint.rule1.min-trailing-silence`
/// and so on.
pub fn register_endpoint_rules<'a>(rules: &'a mut EndpointRules, registry: &mut dyn Registry<'a>) {
    for (rule, names) in rules.rules.iter_mut().zip(RULES) {
        let EndpointRule {
            must_contain_nonsilence, min_trailing_silence, max_relative_cost, min_utterance_length, ..
        } = rule;
        registry.add(names[0], must_contain_nonsilence, "The rule needs something other than silence");
        registry.add(names[1], min_trailing_silence, "Minimum seconds of silence at the end");
        registry.add(names[2], max_relative_cost, "Maximum cost of ending in excess of the best path");
        registry.add(names[3], min_utterance_length, "Minimum seconds of the utterance");
    }
}
