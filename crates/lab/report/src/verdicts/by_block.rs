//! Values by block, before anything is decided: every verdict and interval of a report is made from them. Kept, they
//! give the same verdicts again without the records, by the same code.

use std::collections::BTreeMap;

use record::{CompactCell, CompactRun, Run};
use stats::Span;

use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::cost::joules_per_request;
use crate::figures::energy::{Model, models};
use crate::figures::phases::Split;
use crate::figures::population::populations;
use crate::figures::position::Places;
use crate::records::Records;
use crate::summary::arm::{Role, role_of};
use crate::summary::quantity::Unit;
use crate::verdicts::apart::differing;
use crate::verdicts::compare;
use crate::verdicts::values::{BlockValue, Values};

/// The measure of [`Kind::Bytes`].
pub const BYTES: &str = "bytes on the wire";

/// The largest difference in bytes that still counts as no difference, as a share of the other arm's:
/// repeated headers and acknowledgements alone vary by about as much.
const BYTES_MARGIN: f64 = 0.02;

/// The same for parts of a request: the default margin of times without its 2 ms, which are longer
/// than most encodings take.
const PART_MARGIN: f64 = 0.05;

/// The same for energies.
const ENERGY_MARGIN: f64 = 0.05;

/// What the label of an energy begins with, before the phone.
const ENERGY: &str = "energy, ";

/// What kind of value a measure is. A report gives verdicts on times only; the other kinds are decided
/// apart from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The time of requests, ns.
    Time,
    /// IP bytes in both directions, as sent, over all requests of a cell.
    Bytes,
    /// The time that a part of an exchange takes, e.g. its encoding: the mean of a cell, ns.
    Part,
    /// What a request costs a phone's radio by a model, J. Arms are compared by the same phone.
    Energy,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Time, Kind::Bytes, Kind::Part, Kind::Energy];

    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Time => "time",
            Kind::Bytes => "bytes",
            Kind::Part => "part",
            Kind::Energy => "energy",
        }
    }

    /// Returns the unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Kind::Time | Kind::Part => Unit::Ns,
            Kind::Bytes => Unit::Bytes,
            Kind::Energy => Unit::Joules,
        }
    }
}

/// Where a value was measured: a measure of an arm on a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What kind of value it is.
    pub kind: Kind,
    /// The network's name.
    pub network: String,
    /// The label of the measure: [`crate::Measure::label`] of a time, e.g. `encode, GROUP` of a part
    /// and `energy, PHONE` of an energy.
    pub measure: String,
    /// The arm's name.
    pub arm: String,
}

/// Everything that the blocks of a run say, without A/A arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByBlock {
    /// The arm's median in each block.
    pub medians: BTreeMap<Place, BTreeMap<u32, Span>>,
    /// Comparisons with the arm that is named second.
    pub pairs: BTreeMap<(Place, String), Values>,
}

impl ByBlock {
    /// Takes the values of a run: every arm against the baseline, and the pairs in `others`. A pair is an arm and the
    /// one that it is compared with.
    pub fn of(data: &impl Records, others: &[(&str, &str)]) -> ByBlock {
        let data = &*data.compact();
        let apart = differing(data.run(), &CellIndex::new(data));
        ByBlock::with_apart(data, others, &apart)
    }

    /// Takes the values of a run, with the requests at these places apart from other warm ones.
    pub(crate) fn with_apart(
        data: &CompactRun,
        others: &[(&str, &str)],
        apart: &Places,
    ) -> ByBlock {
        let (run, cells) = (data.run(), CellIndex::new(data));
        let populations = populations(run, apart);
        let arms: Vec<&str> = run
            .arms
            .iter()
            .map(|arm| arm.name.as_str())
            .filter(|arm| role_of(run, arm) != Role::Repeat)
            .collect();
        let rivals = arms.iter().filter(|arm| **arm != run.baseline);
        let mut pairs: Vec<(&str, &str)> = rivals.map(|arm| (*arm, &*run.baseline)).collect();
        pairs.extend_from_slice(others);
        let mut all = ByBlock::default();
        for cost in costs(run) {
            for network in &run.networks {
                let place = |arm: &str| Place {
                    kind: cost.kind,
                    network: network.name.clone(),
                    measure: cost.label.clone(),
                    arm: arm.to_owned(),
                };
                let of = |arm: &str| cost.by_block(&cells.first(&network.name, arm));
                for arm in arms.iter().filter(|arm| !of(arm).is_empty()) {
                    all.medians.insert(place(arm), of(arm));
                }
                for (arm, other) in &pairs {
                    let values = cost.compare(&of(arm), &of(other));
                    if !values.blocks.is_empty() {
                        all.pairs.insert((place(arm), (*other).to_owned()), values);
                    }
                }
            }
        }
        for (network, population) in run
            .networks
            .iter()
            .flat_map(|network| populations.iter().map(|p| (network.name.as_str(), p)))
        {
            let place = |arm: &str| Place {
                kind: Kind::Time,
                network: network.to_owned(),
                measure: population.label.clone(),
                arm: arm.to_owned(),
            };
            for arm in &arms {
                let times = population.by_block(&cells.first(network, arm), run.timeout_ns);
                all.medians.insert(place(arm), times);
            }
            for (arm, other) in &pairs {
                let values = compare::values(run, &cells, population, network, (arm, other));
                all.pairs.insert((place(arm), (*other).to_owned()), values);
            }
        }
        all
    }
}

/// Returns the value of a cell, or `None` where it is not known.
type CellValue<'a> = Box<dyn Fn(&CompactCell) -> Option<f64> + 'a>;

/// Returns a part of an exchange, ns.
type Part = fn(&Split) -> u64;

/// A value that each cell has once.
struct Cost<'a> {
    kind: Kind,
    label: String,
    margin: f64,
    of: CellValue<'a>,
}

/// Returns what cells cost: bytes, energy by every phone, and for each group of exchanges the parts that
/// its codec takes.
fn costs(run: &Run) -> Vec<Cost<'_>> {
    let mut costs = Vec::new();
    // Where time decides how many requests there are, the faster arm sends more bytes.
    if run.groups.iter().all(|group| group.load.is_none()) {
        costs.push(Cost {
            kind: Kind::Bytes,
            label: BYTES.to_owned(),
            margin: BYTES_MARGIN,
            of: Box::new(|cell| Some((cell.wire.up_bytes + cell.wire.down_bytes) as f64)),
        });
    }
    let mut by_phone: BTreeMap<&str, BTreeMap<&str, Model>> = BTreeMap::new();
    for network in &run.networks {
        for model in models(network).unwrap_or_default() {
            let of_phone = by_phone.entry(model.phone.name).or_default();
            of_phone.insert(&network.name, model);
        }
    }
    costs.extend(by_phone.into_iter().map(|(phone, models)| Cost {
        kind: Kind::Energy,
        label: format!("{ENERGY}{phone}"),
        margin: ENERGY_MARGIN,
        of: Box::new(move |cell| joules_per_request(cell, models.get(&*cell.network)?)),
    }));
    let parts: [(&str, Part); 2] = [("encode", |s| s.encode_ns), ("decode", |s| s.decode_ns)];
    for group in &run.groups {
        costs.extend(parts.map(|(name, part)| Cost {
            kind: Kind::Part,
            label: format!("{name}, {}", group.name),
            margin: PART_MARGIN,
            of: Box::new(move |cell| mean(cell, &group.name, part)),
        }));
    }
    costs
}

/// Returns the phone of a measure of [`Kind::Energy`], by its label.
pub fn phone_of(measure: &str) -> Option<&str> {
    measure.strip_prefix(ENERGY)
}

/// Returns the mean over the successful exchanges of a group, if there are any.
fn mean(cell: &CompactCell, group: &str, part: Part) -> Option<f64> {
    let calls = cell.calls.iter().filter(|call| call.group() == group);
    let parts: Vec<u64> = calls.filter_map(Split::of).map(|s| part(&s)).collect();
    (!parts.is_empty()).then(|| parts.iter().sum::<u64>() as f64 / parts.len() as f64)
}

impl Cost<'_> {
    /// Returns the value of each block whose cell was measured. Zero means not measured.
    fn by_block(&self, blocks: &Blocks<'_>) -> BTreeMap<u32, Span> {
        let value = |cell: &CompactCell| (self.of)(cell).filter(|v| *v > 0.0 && cell.is_measured());
        let of_block =
            |(&block, cell): (&u32, &&CompactCell)| Some((block, Span::exact(value(cell)?)));
        blocks.iter().filter_map(of_block).collect()
    }

    fn compare(&self, arm: &BTreeMap<u32, Span>, other: &BTreeMap<u32, Span>) -> Values {
        let value = |(&block, value): (&u32, &Span)| {
            let other = other.get(&block)?;
            let difference = value.minus(*other);
            let speedup = Some(other.over(*value));
            Some((
                block,
                BlockValue {
                    difference,
                    speedup,
                },
            ))
        };
        let others: Vec<Span> = other.values().copied().collect();
        Values {
            margin: self.margin * stats::median(&others).map_or(0.0, |median| median.lo),
            blocks: arm.iter().filter_map(value).collect(),
        }
    }
}
