//! What criterion wrote to its folder, and the verdicts of the budgets of benchmarks on it.
//!
//! Of each benchmark criterion keeps a folder `new`: `benchmark.json` with its id, `estimates.json` with mean and median,
//! `sample.json` with each sample's iterations and time, all in ns.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use graph_core::{
    budget::{BenchTimes, Judgement, Level, Reference, Verdict, exit, judge_bench},
    file::{BenchSpec, GraphSpec},
    report::{BenchReport, Machine},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A benchmark of criterion's folder cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read: {why}; `cargo bench` writes it anew", .path.display())]
struct Unreadable {
    path: PathBuf,
    why: String,
}

/// Criterion's folder: where each benchmark's last run is, by id.
pub struct Criterion(BTreeMap<String, PathBuf>);

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    times: Vec<f64>,
}

impl Criterion {
    /// Looks for benchmarks in the folder.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn open(folder: &Path) -> io::Result<Criterion> {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    continue;
                }
                let path = entry.path();
                // A folder `new` without an id is somebody else's.
                if entry.file_name() == "new"
                    && let Ok(benchmark) = read::<Benchmark>(&path.join("benchmark.json"))
                {
                    found.insert(benchmark.full_id, path);
                } else {
                    open.push(path);
                }
            }
        }
        Ok(Criterion(found))
    }

    /// The last run of a benchmark; `None` where there is none.
    fn times(&self, id: &str) -> Option<Result<BenchTimes, Unreadable>> {
        self.0.get(id).map(|folder| times(folder))
    }
}

fn times(folder: &Path) -> Result<BenchTimes, Unreadable> {
    let estimates: Estimates = read(&folder.join("estimates.json"))?;
    let path = folder.join("sample.json");
    let Samples { iters, times } = read(&path)?;
    let samples: Vec<f64> = times.iter().zip(&iters).map(|(time, iterations)| time / iterations).collect();
    let (mean, median) = (estimates.mean.point_estimate, estimates.median.point_estimate);
    let is_time = |nanos: &f64| nanos.is_finite() && *nanos >= 0.0;
    if iters.len() != times.len() || !samples.iter().chain([&mean, &median]).all(is_time) {
        return Err(Unreadable { path, why: "its figures are no times".to_owned() });
    }
    Ok(BenchTimes { mean, median, samples })
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Unreadable> {
    let failed = |why: String| Unreadable { path: path.to_owned(), why };
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
}

/// The budgets of benchmarks, judged. As JSON it is an interface, and `schema_version` counts its changes.
#[derive(Debug, Serialize)]
pub struct Report {
    /// 1.
    pub schema_version: u32,
    /// The weightiest verdict of all limits.
    pub verdict: Verdict,
    /// The exit status that follows.
    pub exit_code: u8,
    /// Criterion's folder.
    pub criterion: PathBuf,
    /// The machine that the report was made on.
    pub machine: Machine,
    /// Each graph.
    pub graphs: Vec<GraphBenches>,
}

/// The benchmarks of one graph.
#[derive(Debug, Serialize)]
pub struct GraphBenches {
    /// Its name.
    pub graph: String,
    /// The machine class that its limits hold for.
    pub class: Option<String>,
    /// In the order of the file.
    pub benches: Vec<Judged>,
}

/// A benchmark, what was measured of it, and what is said of its limits.
#[derive(Debug, Serialize)]
pub struct Judged {
    /// Id, verdict, reference and limits.
    #[serde(flatten)]
    pub bench: BenchReport,
    /// Why nothing is known of it.
    pub reason: Option<String>,
    /// What was measured.
    #[serde(flatten)]
    pub figures: Option<Figures>,
    /// How the mean compares with the reference.
    pub against_reference: Option<Against>,
}

/// What was measured of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Samples.
    pub n: u64,
    /// Mean, to the nearest ns.
    pub mean_ns: u64,
    /// Median, to the nearest ns.
    pub median_ns: u64,
    /// Mean.
    pub mean_ps: u64,
    /// Median.
    pub median_ps: u64,
    /// Samples far above the others, by Tukey's fence.
    pub outliers: u64,
}

/// A mean beside what somebody measured elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// So many times the reference.
    Times(f64),
    /// Under the bound that the reference is, or under its range.
    Under,
    /// Within the reference's range.
    Within,
    /// Over the bound, or over the range.
    Over,
}

impl Report {
    /// Judges the benchmarks of graphs. `criterion` is `None` where its folder is not there.
    pub fn new(
        folder: &Path,
        criterion: Option<&Criterion>,
        graphs: &[GraphSpec],
        machine: Machine,
    ) -> Report {
        let graphs = graphs.iter().map(|graph| GraphBenches {
            graph: graph.name.clone(),
            class: graph.class.clone(),
            benches: graph.benches.iter().map(|bench| judged(folder, criterion, bench)).collect(),
        });
        let mut report = Report {
            schema_version: 1,
            verdict: Verdict::NotBudgeted,
            exit_code: exit::OK,
            criterion: folder.to_owned(),
            machine,
            graphs: graphs.collect(),
        };
        // A limit of level `warn` weighs no more than a warning, whatever became of it.
        let weight = |judgement: &Judgement| match judgement.limit.level {
            Level::Warn => judgement.verdict.min(Verdict::Warn),
            Level::Fail => judgement.verdict,
        };
        report.verdict = Verdict::of_all(report.judgements().map(weight));
        report.exit_code = exit::combine(report.judgements().map(exit::of));
        report
    }

    /// All limits.
    pub fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        self.graphs.iter().flat_map(|graph| &graph.benches).flat_map(|judged| &judged.bench.limits)
    }
}

fn judged(folder: &Path, criterion: Option<&Criterion>, spec: &BenchSpec) -> Judged {
    let (id, budget) = (&spec.id.value, spec.budget.to_budget());
    let times = match criterion.and_then(|criterion| criterion.times(id)) {
        Some(Ok(times)) => Ok(times),
        Some(Err(unreadable)) => Err(unreadable.to_string()),
        None => Err(format!("{} has no `{id}`; `cargo bench` measures it", folder.display())),
    };
    let limits: Vec<Judgement> = budget
        .limits
        .iter()
        .map(|limit| match &times {
            Ok(times) => judge_bench(limit, times),
            Err(reason) => Judgement::no_data(limit, reason),
        })
        .collect();
    let verdict = match &times {
        Ok(_) => Verdict::of_all(limits.iter().map(|limit| limit.verdict)),
        Err(_) => Verdict::NoData,
    };
    Judged {
        reason: times.as_ref().err().cloned(),
        against_reference: times.as_ref().ok().and_then(|times| against(times.mean, budget.reference?)),
        figures: times.ok().map(|times| figures(&times)),
        bench: BenchReport { id: id.clone(), verdict, reference: budget.reference, limits },
    }
}

fn figures(times: &BenchTimes) -> Figures {
    let whole = |value: f64| value.round() as u64;
    Figures {
        n: times.samples.len() as u64,
        mean_ns: whole(times.mean),
        median_ns: whole(times.median),
        mean_ps: whole(times.mean * 1e3),
        median_ps: whole(times.median * 1e3),
        outliers: times.outliers(),
    }
}

fn against(mean: f64, reference: Reference) -> Option<Against> {
    let over = |bound: u64| mean > bound as f64;
    Some(match reference {
        Reference::Time(time) if time.0 == 0 => return None,
        Reference::Time(time) => Against::Times(mean / time.0 as f64),
        Reference::Below(bound) if over(bound.0) => Against::Over,
        Reference::Below(_) => Against::Under,
        Reference::Range(_, to) if over(to.0) => Against::Over,
        Reference::Range(from, _) if over(from.0) => Against::Within,
        Reference::Range(..) => Against::Under,
        Reference::Rate(_) => return None,
    })
}
