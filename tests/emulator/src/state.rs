//! All state, behind one mutex: jobs, ledger, request log, counters.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use crate::clock::Clock;
use crate::config::Config;
use crate::fault::Fault;
use crate::head::Head;
use crate::job::Job;
use crate::ledger::{Message, RequestEntry, Requests};
use crate::rule::Rule;

pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) jobs: HashMap<String, Job>,
    pub(crate) ledger: Vec<Message>,
    /// When the messages of the last hour were processed, oldest first.
    pub(crate) uses: VecDeque<Instant>,
    pub(crate) created: u64,
    pub(crate) pulls: u64,
    rules: Vec<Arc<Rule>>,
    /// For each rule, how many requests its other matchers have matched.
    hits: Vec<u64>,
    connections: u64,
    total: u64,
    log: Vec<RequestEntry>,
    /// Counts resets, so a request from before a reset is not counted after it.
    epoch: u64,
}

/// A connection's place among those accepted since the last reset.
pub(crate) struct Place {
    pub(crate) connection: u64,
    epoch: u64,
    spoke: bool,
}

/// A request in progress.
pub(crate) struct Ticket {
    pub(crate) n: u64,
    connection: u64,
    epoch: u64,
    entry: Option<usize>,
}

impl State {
    pub(crate) fn new(config: Config) -> Self {
        let clock = Clock::start();
        // Pull request 1 is the one that the configured jobs opened in their past.
        let jobs = config
            .jobs
            .iter()
            .map(|fields| {
                let id = fields.get("id").and_then(|id| id.as_str()).unwrap_or_default();
                (id.to_owned(), Job::configured(fields, &config, &clock, 1))
            })
            .collect();
        let rules: Vec<_> = config.rules.iter().cloned().map(Arc::new).collect();
        Self {
            clock,
            jobs,
            ledger: Vec::new(),
            uses: VecDeque::new(),
            created: 0,
            pulls: 1,
            hits: vec![0; rules.len()],
            rules,
            connections: 0,
            total: 0,
            log: Vec::new(),
            epoch: 1,
            config,
        }
    }

    /// Starts again with `config`. Open connections stay, and are counted again when they speak.
    pub(crate) fn reset(&mut self, config: Config) {
        let epoch = self.epoch + 1;
        *self = Self { epoch, ..Self::new(config) };
    }

    /// Counts a connection, and says how it breaks at once, if it does.
    pub(crate) fn accept(&mut self) -> (Place, Option<Fault>) {
        self.connections += 1;
        let connection = self.connections;
        // Nothing but the connection itself can be matched yet, so its number is the count of every ordinal.
        let struck = self
            .rules
            .iter()
            .find(|rule| rule.strikes_accept() && rule.matches(connection, "", "") && rule.hits(connection));
        let fault = struck.and_then(|rule| rule.fault.clone());
        (Place { connection, epoch: self.epoch, spoke: false }, fault)
    }

    /// Takes back the count of a connection that only reads the truth, so that reading the counters doesn't change them.
    pub(crate) fn give_back(&mut self, place: &mut Place) {
        let last = place.epoch == self.epoch && place.connection == self.connections;
        if last && !place.spoke {
            self.connections -= 1;
            place.epoch = 0;
        }
    }

    /// Counts a request whose first bytes arrived, and says whether it breaks within its head.
    pub(crate) fn begin(&mut self, place: &mut Place) -> (Ticket, Option<Fault>) {
        if place.epoch != self.epoch {
            self.connections += 1;
            *place = Place { connection: self.connections, epoch: self.epoch, spoke: true };
        }
        place.spoke = true;
        self.total += 1;
        let (n, connection) = (self.total, place.connection);
        let entry = self.config.keep_requests.then(|| {
            self.log.push(RequestEntry { n, connection, ..RequestEntry::default() });
            self.log.len() - 1
        });
        let fault = self.first_hit(connection, "", "", Rule::strikes_head).and_then(|rule| rule.fault.clone());
        (Ticket { n, connection, epoch: self.epoch, entry }, fault)
    }

    /// Enters a request's head, checks its key, and picks the rule for it.
    pub(crate) fn decide(&mut self, ticket: &Ticket, head: &mut Head) -> (bool, Option<Arc<Rule>>) {
        let authorized = head
            .authorization
            .as_deref()
            .and_then(|value| value.strip_prefix("Bearer "))
            .is_some_and(|key| key == self.config.api_key);
        self.note(ticket, |entry| {
            entry.method = Some(head.method.clone());
            entry.path = Some(head.target.clone());
            entry.headers = std::mem::take(&mut head.headers);
            for (name, value) in &mut entry.headers {
                if name.eq_ignore_ascii_case("authorization") {
                    *value = if authorized { "Bearer ***" } else { "***" }.to_owned();
                }
            }
        });
        let rule = (ticket.epoch == self.epoch)
            .then(|| {
                self.first_hit(ticket.connection, &head.method, head.path(), |rule| {
                    !rule.strikes_head() && !rule.strikes_accept()
                })
            })
            .flatten();
        (authorized, rule)
    }

    /// Enters a request that broke off within its head: `request_line` is what is known of it. It still counts for the rules
    /// that match any method and path.
    pub(crate) fn broke_off(&mut self, ticket: &Ticket, request_line: Option<(String, String)>, fault: Option<String>) {
        self.note(ticket, |entry| {
            (entry.method, entry.path) = request_line.unzip();
            entry.fault = fault;
        });
        if ticket.epoch == self.epoch {
            self.first_hit(ticket.connection, "", "", |rule| {
                !rule.strikes_head() && !rule.strikes_accept() && rule.method.is_none() && rule.path.is_none()
            });
        }
    }

    /// Changes a request's entry, if it has one.
    pub(crate) fn note(&mut self, ticket: &Ticket, change: impl FnOnce(&mut RequestEntry)) {
        if let Some(entry) = ticket.entry
            && ticket.epoch == self.epoch
        {
            change(&mut self.log[entry]);
        }
    }

    /// Whether `ticket` is of the present: a message that began before a reset is not processed after it.
    pub(crate) fn is_current(&self, ticket: &Ticket) -> bool {
        ticket.epoch == self.epoch
    }

    pub(crate) fn requests(&self) -> Requests {
        Requests { connections: self.connections, total: self.total, requests: self.log.clone() }
    }

    /// Counts a request for each of the `kind` of rules that match it, and returns the first that means just this one. Every
    /// rule counts, also after the first hit: `nth` says the n-th request that matches, not the n-th that was left over.
    fn first_hit(
        &mut self,
        connection: u64,
        method: &str,
        path: &str,
        kind: impl Fn(&Rule) -> bool,
    ) -> Option<Arc<Rule>> {
        let mut first = None;
        for (rule, count) in self.rules.iter().zip(&mut self.hits) {
            if kind(rule) && rule.matches(connection, method, path) {
                *count += 1;
                if first.is_none() && rule.hits(*count) {
                    first = Some(Arc::clone(rule));
                }
            }
        }
        first
    }
}

impl Ticket {
    /// Whether the request has an entry of its own in the log.
    pub(crate) fn is_logged(&self) -> bool {
        self.entry.is_some()
    }
}
