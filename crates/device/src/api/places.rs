//! Places of connections. A connection that waits for a request gives its place up when a new one needs it, so that whoever
//! opens connections and says nothing keeps nobody out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

struct Connection<A> {
    number: u64,
    address: A,
    activity: Activity,
    leave: Option<oneshot::Sender<()>>,
}

struct State<A> {
    /// The oldest first.
    held: VecDeque<Connection<A>>,
    next: u64,
}

/// The places of one socket.
pub(super) struct ConnectionSlots<A> {
    state: Arc<Mutex<State<A>>>,
    total: usize,
    each: usize,
}

impl<A: Copy + PartialEq + Send + 'static> ConnectionSlots<A> {
    /// `total` places, of which one address gets `each`.
    pub(super) fn new(total: usize, each: usize) -> Self {
        Self { state: Arc::new(Mutex::new(State { held: VecDeque::new(), next: 0 })), total, each }
    }

    /// A place for a connection from `address`; `None`: all are in use by connections that are being answered.
    pub(super) fn take(&self, address: A) -> Option<ConnectionSlot> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let crowded = state.held.iter().filter(|held| held.address == address).count() >= self.each;
        if crowded || state.held.len() >= self.total {
            let gives_up = |held: &Connection<A>| !held.activity.busy() && (!crowded || held.address == address);
            let at = state.held.iter().position(gives_up)?;
            if let Some(leave) = state.held.remove(at).and_then(|held| held.leave) {
                // It has ended by itself.
                let _ = leave.send(());
            }
        }
        let number = state.next;
        state.next += 1;
        let (leave, left) = oneshot::channel();
        let activity = Activity::default();
        state.held.push_back(Connection { number, address, activity: activity.clone(), leave: Some(leave) });
        let places = Arc::clone(&self.state);
        let free = Box::new(move || {
            let mut state = places.lock().unwrap_or_else(PoisonError::into_inner);
            state.held.retain(|held| held.number != number);
        });
        Some(ConnectionSlot { activity, left, free })
    }
}

/// A connection's place, free again when dropped.
pub(super) struct ConnectionSlot {
    activity: Activity,
    left: oneshot::Receiver<()>,
    free: Box<dyn Fn() + Send>,
}

impl ConnectionSlot {
    pub(super) fn activity(&self) -> Activity {
        self.activity.clone()
    }

    /// Another connection has got it.
    pub(super) async fn given_up(&mut self) {
        if (&mut self.left).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        (self.free)();
    }
}

/// Requests of a connection that are being answered.
#[derive(Clone, Default)]
pub(super) struct Activity(Arc<AtomicU32>);

impl Activity {
    /// Until the result is dropped.
    pub(super) fn begin(&self) -> OpenRequest {
        self.0.fetch_add(1, Ordering::AcqRel);
        OpenRequest(self.clone())
    }

    fn busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

pub(super) struct OpenRequest(Activity);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(place: &mut ConnectionSlot) -> bool {
        place.left.try_recv().is_ok()
    }

    #[test]
    fn who_waits_makes_room_for_who_comes_and_who_is_answered_stays() {
        let places = ConnectionSlots::new(3, 2);
        let (mut a1, mut a2) = (places.take('a').unwrap(), places.take('a').unwrap());
        let busy = a1.activity().begin();
        // The third of an address takes the place of its oldest that waits.
        let mut a3 = places.take('a').unwrap();
        assert_eq!((left(&mut a1), left(&mut a2), left(&mut a3)), (false, true, false));
        // One that gave up and ends later frees nobody else's place.
        drop(a2);
        let mut b1 = places.take('b').unwrap();
        // All are in use: the oldest of any address that waits.
        let mut c1 = places.take('c').unwrap();
        assert_eq!((left(&mut a3), left(&mut b1), left(&mut c1)), (true, false, false));
        let (also, too) = (b1.activity().begin(), c1.activity().begin());
        assert!(places.take('d').is_none());
        drop(too);
        assert!(places.take('d').is_some());
        drop((busy, also));
    }
}
