//! Web pages: objects that a browser requests over a few parallel connections.

use super::client::{count, one_packet, pause};
use super::{Check, Distribution, Kind, Traffic};
use crate::application::{Client, Get, Measured, Orders, Times};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Random;
use sojourn_document::bounds::{up_to, DATA};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Instant, Span};

/// Web pages, one after another; TCP only. `from` is the server, `to` the browser. By default a page is the one of RFC 7928,
/// section 7.2: 50 objects of 1 kB over 6 new connections, and the next page when it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Web {
    /// Objects of a page.
    #[serde(default = "objects")]
    pub objects: u32,
    /// Size of an object: a size, or a random size.
    #[serde(default = "object_size")]
    pub object_size: Amount<Bytes>,
    /// Size of the document that must arrive before the objects are requested; 0 for none.
    #[serde(default)]
    pub html: Quantity<Bytes>,
    /// Parallel connections. Each is a flow, and opened anew for each page.
    #[serde(default = "connections")]
    pub connections: u32,
    /// Connections stay open for the next pages.
    #[serde(default)]
    pub persistent: bool,
    /// Size of a request, which is one packet.
    #[serde(default = "request_size")]
    pub request_size: Quantity<Bytes>,
    /// From the end of a page to the start of the next one: a time, or a random time.
    #[serde(default = "pause")]
    pub pause: Amount<Span>,
}

fn objects() -> u32 {
    50
}

fn object_size() -> Amount<Bytes> {
    Amount::Constant(Quantity(Bytes::new(1000)))
}

fn connections() -> u32 {
    6
}

fn request_size() -> Quantity<Bytes> {
    Quantity(Bytes::new(400))
}

impl Kind for Web {
    const TITLE: &'static str = "web pages";
    const EXAMPLE: &'static str =
        "objects = 50, object_size = { exponential = { mean = \"20 kB\" } }, html = \"30 kB\", pause = \"2 s\"";
    const OWN_RATE: bool = false;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        count(check, "objects", self.objects, 10_000)?;
        count(check, "connections", self.connections, 64)?;
        up_to(self.html.0, &DATA, || check.path.then("html"))?;
        Ok(Traffic::Client(Box::new(Browser {
            page: Page {
                objects: self.objects,
                size: check.size("object_size", &self.object_size)?,
                html: self.html.0.get(),
                request: one_packet(check, "request_size", self.request_size.0)?,
                pause: check.time("pause", &self.pause)?,
                is_persistent: self.persistent,
            },
            fresh: vec![true; self.connections as usize],
            began: Instant::ZERO,
            to_ask: 0,
            to_come: 0,
            loads: Times::default(),
        })))
    }
}

/// What pages are like.
#[derive(Clone, Debug)]
struct Page {
    objects: u32,
    size: Distribution<Bytes>,
    html: u64,
    request: u32,
    pause: Distribution<Span>,
    is_persistent: bool,
}

/// The browser.
#[derive(Clone, Debug)]
struct Browser {
    page: Page,
    /// Connections that are to be opened anew at their next request.
    fresh: Vec<bool>,
    began: Instant,
    /// Objects of the page that have not been requested.
    to_ask: u32,
    /// Objects that have not arrived, the document included.
    to_come: u32,
    loads: Times,
}

impl Browser {
    fn get(&mut self, connection: usize, answer: u64, orders: &mut Orders) {
        let Some(fresh) = self.fresh.get_mut(connection) else { return };
        let anew = std::mem::take(fresh);
        orders.gets.push(Get { connection: connection as u32, request: self.page.request, answer, anew });
    }

    fn get_object(&mut self, connection: usize, random: &mut dyn Random, orders: &mut Orders) {
        if self.to_ask > 0 {
            self.to_ask -= 1;
            let size = whole_size(&self.page.size, random);
            self.get(connection, size, orders);
        }
    }

    fn get_objects(&mut self, random: &mut dyn Random, orders: &mut Orders) {
        (0..self.fresh.len()).for_each(|connection| self.get_object(connection, random, orders));
    }
}

/// A size of at least one byte.
pub(super) fn whole_size(size: &Distribution<Bytes>, random: &mut dyn Random) -> u64 {
    libm::round(size.draw(random)).clamp(1.0, DATA.most.get() as f64) as u64
}

impl Client for Browser {
    fn connections(&self) -> u32 {
        self.fresh.len() as u32
    }

    fn on_time(&mut self, now: Instant, random: &mut dyn Random, orders: &mut Orders) {
        orders.wake_at = Instant::NEVER;
        if self.to_come > 0 {
            return;
        }
        self.began = now;
        self.to_ask = self.page.objects;
        self.to_come = self.page.objects;
        if self.page.html > 0 {
            self.to_come += 1;
            self.get(0, self.page.html, orders);
        } else {
            self.get_objects(random, orders);
        }
    }

    fn on_answer(&mut self, now: Instant, connection: u32, random: &mut dyn Random, orders: &mut Orders) {
        let was_html = self.page.html > 0 && self.to_come == self.page.objects + 1;
        self.to_come = self.to_come.saturating_sub(1);
        if was_html {
            return self.get_objects(random, orders);
        }
        self.get_object(connection as usize, random, orders);
        if self.to_come == 0 {
            self.loads.add(now.since(self.began));
            self.fresh.fill(!self.page.is_persistent);
            orders.wake_at = now + Span::from_nanos(libm::round(self.page.pause.draw(random)) as u64);
        }
    }

    fn restart(&mut self, _now: Instant) {
        self.loads = Times::default();
    }

    fn measured(&self, _now: Instant) -> Measured {
        Measured::Pages(self.loads.clone())
    }
}
