//! A plan as `run.json` has it, for reports to read.

use std::collections::BTreeMap;

use driver::manifest::OWN_SERVER;
use driver::protocol::Discovery;
use record::{Host, PlannedCall, Run, Settings};

use super::Plan;
use super::calls::planned_calls;
use super::own::SentRequest;
use super::workload::Workload;
use crate::own::Form;
use crate::{Access, ArmRole, AuthScheme, Chain, Connections, Security, StudyNetwork};

/// What every result of a plaintext arm says.
const PLAINTEXT: &str = "plaintext, without TLS: not a transport for an app, only a control";

impl Plan {
    /// Returns the head of a run of this plan, as `run.json` has it, without what is known only when it runs:
    /// options, machine, self-test and time.
    pub fn head(&self) -> Run {
        let study = &self.study;
        Run {
            format: record::FORMAT,
            commute: env!("CARGO_PKG_VERSION").to_owned(),
            study: study.name.clone(),
            question: study.question.clone(),
            seed: study.seed,
            blocks: study.blocks,
            baseline: study.arms[study.baseline].name.clone(),
            margin_ns: study.margin_ns,
            tail_percent: study.tail_percent,
            min_clean_percent: study.min_clean_percent,
            timeout_ns: study.timeout_ns,
            arms: self.arms(),
            networks: self.networks.iter().map(recorded).collect(),
            groups: self.workload.groups.clone(),
            calls: self.calls(),
            plan: self.cells().cloned().collect(),
            settings: Settings::default(),
            host: Host::default(),
            self_test: Vec::new(),
            started_unix_ns: 0,
        }
    }

    /// Returns the planned calls as `run.json` lists them, without those that are bound by time.
    pub fn calls(&self) -> Vec<PlannedCall> {
        let mut calls = planned_calls(&self.workload);
        calls.retain(|call| self.workload.load_of(call.id).is_none());
        calls
    }

    /// Returns the arms as `run.json` lists them.
    pub fn arms(&self) -> Vec<record::Arm> {
        let baseline = &self.study.arms[self.study.baseline];
        self.study
            .arms
            .iter()
            .zip(&self.arm_workloads)
            .map(|(a, workload)| record::Arm {
                name: a.name.clone(),
                stack: a.stack.clone(),
                protocol: a.protocol.name().to_owned(),
                codec: a.codec.name().to_owned(),
                server: (a.server != OWN_SERVER).then(|| a.server.clone()),
                fault: a.fault.map(|fault| fault.name().to_owned()),
                packet_threshold: a.packet_threshold,
                time_threshold: a.time_threshold,
                security: a.security.name().to_owned(),
                congestion: a.congestion.clone(),
                key: a.key.map(|key| key.name().to_owned()),
                chain: (a.chain != Chain::Typical).then(|| a.chain.name().to_owned()),
                warmup_calls: a.warmup_calls,
                observe: a.observe.clone(),
                discovery: a.discovery.map(|Discovery::AltSvc| "alt_svc".to_owned()),
                policy: a.policy.map(|policy| policy.name().to_owned()),
                auth: a.auth.map(|auth: AuthScheme| auth.name().to_owned()),
                connections: (a.behaviour.connections != Connections::Keep)
                    .then(|| a.behaviour.connections.name().to_owned()),
                resumption: a.behaviour.resumption,
                early_data: a.behaviour.early_data,
                access: (a.behaviour.access != Access::Sequential)
                    .then(|| a.behaviour.access.name()),
                chunk_bytes: a.behaviour.chunk_bytes,
                origins: (a.origins.iter())
                    .map(|(name, at)| (name.clone(), at.name().to_owned()))
                    .collect(),
                own_json: workload
                    .own
                    .iter()
                    .any(|sent| sent.coded().next().is_some()),
                role: (a.role != ArmRole::Candidate).then(|| a.role.name().to_owned()),
                caveat: (a.security == Security::None).then(|| PLAINTEXT.to_owned()),
                same_as_baseline: a.name != baseline.name
                    && crate::Arm {
                        name: baseline.name.clone(),
                        ..a.clone()
                    } == *baseline,
            })
            .collect()
    }

    /// Describes each request of the study's own, and the bytes of bodies that arms send instead of it.
    pub fn own_requests(&self) -> Vec<String> {
        let arms = self.study.arms.iter().zip(&self.arm_workloads);
        let forms: BTreeMap<Form, &Workload> = arms
            .map(|(arm, workload)| (Form::of(arm), workload))
            .collect();
        let describe = |sent: &SentRequest| {
            let others = forms.iter().filter(|(form, _)| **form != Form::AsTheyAre);
            let others = others.filter_map(|(form, workload)| {
                let encoded = workload.own.like(sent)?;
                let (up, down) = (encoded.request_bytes(), encoded.answer_bytes());
                Some(format!("; {}: {up} B, {down} B", form.name()))
            });
            sent.about() + &others.collect::<String>()
        };
        self.workload.own.iter().map(describe).collect()
    }
}

/// Returns the network as it is recorded in `run.json`.
pub fn recorded(network: &StudyNetwork) -> record::Network {
    let n = &network.link;
    record::Network {
        base: (!network.levels.is_empty()).then(|| network.base.clone()),
        levels: network.levels.clone(),
        name: n.name.clone(),
        numbers: n.numbers(),
        basis: n.basis.map(|basis| basis.name().to_owned()),
        rtt_ns: n.rtt_ns(),
        down_bps: n.down.rate.mean_bps(),
        up_bps: n.up.rate.mean_bps(),
        toml: toml::to_string(n).unwrap_or_default(),
    }
}
