//! Prints the recording that graphs/touch.ron plays: every gesture once, a word on the keyboard, and ten fingers at a time.
//!
//! `cargo run -p graph-nodes --features touch --example ten_fingers > graphs/recordings/ten-fingers.events`

use graph_nodes::touch::{evemu, script};

fn main() {
    print!("{}", evemu::text(&script::demonstration()));
}
