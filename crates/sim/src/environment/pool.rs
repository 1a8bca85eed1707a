//! Many environments at a time, on threads that live as long as they do.

use super::{Environment, Spec};
use std::hint::spin_loop;
use std::sync::mpsc::{channel, Receiver, RecvError, Sender, TryRecvError};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// How an episode begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The environment.
    pub environment: usize,
    /// Which of the networks.
    pub network: usize,
    /// The seed of its run.
    pub seed: u64,
    /// The replication of its run.
    pub replication: u64,
}

/// What a thread is to do with its environments, and what came of it. The buffers go to and fro, so a step allocates none.
#[derive(Default)]
struct Request {
    begin: Vec<Begin>,
    /// Of a step; empty where episodes begin.
    actions: Vec<f64>,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    ended: Vec<u8>,
    error: Option<String>,
    /// Report of this environment, as JSON.
    report: Option<usize>,
    text: Option<String>,
}

/// Consecutive environments.
struct Share {
    spec: Arc<Spec>,
    environments: Vec<Environment>,
}

impl Share {
    fn new(spec: &Arc<Spec>, count: usize) -> Self {
        let environments = (0..count).map(|_| Environment::new(Arc::clone(spec))).collect();
        Self { spec: Arc::clone(spec), environments }
    }

    fn carry_out(&mut self, request: &mut Request) {
        if let Some(index) = request.report {
            let report = self.environments.get(index).and_then(Environment::report);
            request.text = report.and_then(|report| serde_json::to_string(report).ok());
            return;
        }
        let width = self.spec.observations();
        let result = if request.actions.is_empty() { self.begin(request, width) } else { self.step(request, width) };
        request.error = result.err();
    }

    fn begin(&mut self, request: &mut Request, width: usize) -> Result<(), String> {
        for begin in &request.begin {
            let place = begin.environment * width;
            let seen = request.observations.get_mut(place..place + width);
            if let (Some(environment), Some(seen)) = (self.environments.get_mut(begin.environment), seen) {
                environment.begin(begin, seen)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, request: &mut Request, width: usize) -> Result<(), String> {
        let actions = request.actions.chunks(self.spec.actions());
        let seen = request.observations.chunks_mut(width);
        let given = request.rewards.iter_mut().zip(&mut request.ended);
        for (((environment, action), seen), (reward, ended)) in
            self.environments.iter_mut().zip(actions).zip(seen).zip(given)
        {
            let (gained, is_over) = environment.step(action, seen)?;
            (*reward, *ended) = (gained, u8::from(is_over));
        }
        Ok(())
    }
}

struct Worker {
    to: Option<Sender<Request>>,
    from: Receiver<Request>,
    thread: Option<JoinHandle<()>>,
}

/// Looks at a channel before its thread sleeps, and pauses between two looks: some 0.1 ms together.
const MAX_POLLS: u32 = 1024;
const PAUSES: u32 = 8;
/// Waits that sleep at once after one in which looking was in vain.
const SKIPS: u32 = 15;

/// Waits for messages. To wake a thread takes longer than a short step of a few environments, so it looks for a while before
/// it sleeps. Where the other thread has no core of its own, looking takes its time away, so that is tried seldom.
#[derive(Default)]
struct Patience {
    skips: u32,
}

impl Patience {
    fn next<T>(&mut self, from: &Receiver<T>) -> Result<T, RecvError> {
        if self.skips > 0 {
            self.skips -= 1;
            return from.recv();
        }
        for _ in 0..MAX_POLLS {
            match from.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => (0..PAUSES).for_each(|_| spin_loop()),
            }
        }
        self.skips = SKIPS;
        from.recv()
    }
}

/// Environments of one kind; each thread has consecutive ones.
pub struct Pool {
    spec: Arc<Spec>,
    /// Those of the thread that calls.
    local: Share,
    workers: Vec<Worker>,
    /// The first environment of each share, the local one first, and their number at the end.
    bounds: Vec<usize>,
    requests: Vec<Request>,
    patience: Patience,
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.to = None;
            if let Some(thread) = worker.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

impl Pool {
    /// `count` environments on `threads` threads, the calling one included.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(spec: Spec, count: usize, threads: usize) -> Result<Self, String> {
        let spec = Arc::new(spec);
        let threads = threads.clamp(1, count.max(1));
        let bounds: Vec<usize> = (0..=threads).map(|part| part * count / threads).collect();
        let size = |part: usize| bounds.get(part + 1).zip(bounds.get(part)).map_or(0, |(end, start)| end - start);
        let mut workers = Vec::new();
        for part in 1..threads {
            let (to, take) = channel::<Request>();
            let (give, from) = channel();
            let (spec, count) = (Arc::clone(&spec), size(part));
            let body = move || {
                let mut share = Share::new(&spec, count);
                let mut patience = Patience::default();
                while let Ok(mut request) = patience.next(&take) {
                    share.carry_out(&mut request);
                    if give.send(request).is_err() {
                        return;
                    }
                }
            };
            let thread = Builder::new().name("environments".into()).spawn(body);
            let thread = thread.map_err(|error| format!("no thread for environments: {error}"))?;
            workers.push(Worker { to: Some(to), from, thread: Some(thread) });
        }
        let local = Share::new(&spec, size(0));
        let requests = (0..threads).map(|part| Self::room(&spec, size(part))).collect();
        Ok(Self { spec, local, workers, bounds, requests, patience: Patience::default() })
    }

    fn room(spec: &Spec, count: usize) -> Request {
        Request {
            observations: vec![0.0; count * spec.observations()],
            rewards: vec![0.0; count],
            ended: vec![0; count],
            ..Request::default()
        }
    }

    /// What its environments are.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Environments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bounds.last().copied().unwrap_or(0)
    }

    /// None at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins episodes.
    ///
    /// # Errors
    /// No such environment or network.
    pub fn begin(&mut self, begins: &[Begin]) -> Result<(), String> {
        if let Some(wrong) = begins.iter().find(|begin| begin.environment >= self.len()) {
            return Err(format!("environment {}; allowed: 0 to {}", wrong.environment, self.len().saturating_sub(1)));
        }
        for (request, bounds) in self.requests.iter_mut().zip(self.bounds.windows(2)) {
            let &[first, last] = bounds else { continue };
            request.actions.clear();
            request.begin.clear();
            let mine = begins.iter().filter(|begin| (first..last).contains(&begin.environment));
            request.begin.extend(mine.map(|begin| Begin { environment: begin.environment - first, ..*begin }));
        }
        self.carry_out()
    }

    /// A step of every environment. `actions` has those of the first environment first.
    ///
    /// # Errors
    /// An action that is refused, or an environment without an episode.
    pub fn step(&mut self, actions: &[f64]) -> Result<(), String> {
        let width = self.spec.actions();
        if actions.len() != self.len() * width {
            return Err(format!("{} numbers of actions; allowed: {} for each of {}", actions.len(), width, self.len()));
        }
        for (request, bounds) in self.requests.iter_mut().zip(self.bounds.windows(2)) {
            let &[first, last] = bounds else { continue };
            request.actions.clear();
            request.actions.extend_from_slice(actions.get(first * width..last * width).unwrap_or_default());
        }
        self.carry_out()
    }

    /// Observations of each environment, of its last step.
    pub fn observations(&self) -> impl Iterator<Item = &f32> {
        self.requests.iter().flat_map(|request| &request.observations)
    }

    /// Rewards of the last step.
    pub fn rewards(&self) -> impl Iterator<Item = f64> + '_ {
        self.requests.iter().flat_map(|request| request.rewards.iter().copied())
    }

    /// Whether episodes have ended with the last step: 0 or 1.
    pub fn ended(&self) -> impl Iterator<Item = u8> + '_ {
        self.requests.iter().flat_map(|request| request.ended.iter().copied())
    }

    /// The report of the episode of `environment` that ended last, as JSON.
    ///
    /// # Errors
    /// None has ended.
    pub fn report(&mut self, environment: usize) -> Result<String, String> {
        let part = self.bounds.partition_point(|first| *first <= environment).saturating_sub(1);
        let first = self.bounds.get(part).copied().unwrap_or(0);
        let ask = Request { report: Some(environment - first), ..Request::default() };
        let answer = match part.checked_sub(1).and_then(|index| self.workers.get(index)) {
            None => {
                let mut ask = ask;
                self.local.carry_out(&mut ask);
                ask
            }
            Some(worker) => {
                let sent = worker.to.as_ref().and_then(|to| to.send(ask).ok());
                sent.and_then(|()| worker.from.recv().ok()).ok_or_else(broken)?
            }
        };
        answer.text.ok_or_else(|| format!("no episode of environment {environment} has ended"))
    }

    /// Every share does its work; the calling thread its own.
    fn carry_out(&mut self) -> Result<(), String> {
        let Some((mine, others)) = self.requests.split_first_mut() else { return Ok(()) };
        for (worker, request) in self.workers.iter().zip(others.iter_mut()) {
            let to = worker.to.as_ref().ok_or_else(broken)?;
            to.send(std::mem::take(request)).map_err(|_| broken())?;
        }
        self.local.carry_out(mine);
        for (worker, request) in self.workers.iter().zip(others) {
            *request = self.patience.next(&worker.from).map_err(|_| broken())?;
        }
        match self.requests.iter_mut().find_map(|request| request.error.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

fn broken() -> String {
    "a thread of environments ended by a defect of the program; please report it with the scenario".into()
}
