//! Random numbers for simulations.

/// Increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Distant starts, so that streams of consecutive seeds do not overlap.
        Self {
            state: seed.wrapping_mul(0xd134_2543_de82_ef95),
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let z = self.state;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number uniform in (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a standard normal number (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns a number with Student's distribution of `df` degrees of freedom.
    pub(crate) fn student(&mut self, df: u32) -> f64 {
        let squares: f64 = (0..df).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / f64::from(df)).sqrt()
    }
}

/// A distribution with a known median.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Distribution {
    Normal,
    /// Student's t with 2 degrees of freedom: symmetric, infinite variance.
    T2,
    LogNormal,
    /// Normal, and in 30 % of cases 6 standard deviations more.
    Bimodal,
}

impl Distribution {
    pub(crate) const ALL: [Self; 4] = [Self::Normal, Self::T2, Self::LogNormal, Self::Bimodal];

    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => random.normal(),
            Self::T2 => random.student(2),
            Self::LogNormal => random.normal().exp(),
            Self::Bimodal => random.normal() + if random.unit() < 0.3 { 6.0 } else { 0.0 },
        }
    }

    pub(crate) fn median(self) -> f64 {
        match self {
            Self::Normal | Self::T2 => 0.0,
            Self::LogNormal => 1.0,
            // The normal quantile of 0.5 / 0.7; the upper mode contributes less than 1e-7.
            Self::Bimodal => 0.565_949,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::T2 => "t, 2 df",
            Self::LogNormal => "lognormal",
            Self::Bimodal => "bimodal",
        }
    }
}
