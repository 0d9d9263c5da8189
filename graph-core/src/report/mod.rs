//! What a run found, in the shape that people and machines are shown.

mod machine;
mod model;
mod progress;
mod run;

pub use machine::Machine;
pub use model::{
    BenchReport, Blocked, EdgeReport, Figures, Note, NoteValue, OverheadReport, PacketReport, PartReport,
    PathReport, Report, SCHEMA_VERSION, Simulation, Times, TurnPart, TurnReport,
};
pub use progress::Progress;
pub use run::Run;
