//! k2's algorithms on FSAs: sorting, trimming, closing, intersecting, composing.
