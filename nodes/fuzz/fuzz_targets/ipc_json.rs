//! Whatever is read as a request or a response is written and read again as the same; a session survives any answer.
#![no_main]

use graph_nodes::{
    spatial::{
        desk::{Desk, FULL, halves},
        frame::{Codec, Scratch},
        homography::Homography,
        message::Stamping,
        wayfire::session::Session,
    },
    types::Request,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    let frame = [&(json.len() as u32).to_le_bytes()[..], json].concat();
    let mut scratch = Scratch::default();
    if let Ok((_, request)) = Codec::Json.read_request(&frame) {
        Codec::Json.write_request(&request, Stamping::default(), &mut scratch).expect("it was short");
        let again = Codec::Json.read_request(scratch.written()).expect("our own words").1;
        // Digits beyond what a number holds may move once.
        assert_eq!(std::mem::discriminant(&again), std::mem::discriminant(&request));
        Desk::new(2, halves(), Homography(FULL)).answer(&request);
    }
    scratch.clear();
    if let Ok((_, response)) = Codec::Json.read_response(&frame) {
        Codec::Json.write_response(&response, Stamping::default(), &mut scratch).expect("it was short");
        Codec::Json.read_response(scratch.written()).expect("our own words");
    }
    let mut session = Session::new(halves(), Homography(FULL));
    for (tag, request) in
        [Request::Views, Request::Outputs, Request::Release { finger: 1 }].iter().enumerate()
    {
        session.ask(request, tag, &mut scratch).expect("it is short");
        let _ = session.hear(&frame);
    }
});
