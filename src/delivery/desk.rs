//! Where the writer lays claimed mails for the senders of a lane, and what both know of the lane.

use crate::domain::message::Mail;
use crate::store::Lease;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A claimed mail that waits for a sender.
pub struct Job {
    pub lease: Lease,
    pub mail: Mail,
}

#[derive(Default)]
struct Inner {
    jobs: VecDeque<Job>,
    /// Senders that wait for a job.
    idle: usize,
    closed: bool,
}

/// The desk of one lane.
#[derive(Default)]
pub struct Desk {
    inner: Mutex<Inner>,
    bell: Condvar,
    /// A server took commands for a mail: the road works, and more connections are worth making.
    proven: AtomicBool,
}

impl Desk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // No code that can panic runs while this is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays a job down for whoever is free.
    pub fn put(&self, job: Job) {
        let mut inner = self.inner();
        inner.jobs.push_back(job);
        self.ring(&inner);
    }

    /// Wakes a sender if one waits: the bell asks the kernel whether anybody hears it or not.
    fn ring(&self, inner: &Inner) {
        if inner.idle > 0 {
            self.bell.notify_one();
        }
    }

    /// Lays a job back that its sender could not begin.
    /// When the desk is closed it comes back.
    pub fn put_back(&self, job: Job) -> Option<Job> {
        let mut inner = self.inner();
        if inner.closed {
            return Some(job);
        }
        inner.jobs.push_front(job);
        self.ring(&inner);
        None
    }

    /// The next job; waits for one, `None` when there will be none.
    pub fn take(&self) -> Option<Job> {
        let mut inner = self.inner();
        loop {
            if let Some(job) = inner.jobs.pop_front() {
                return Some(job);
            }
            if inner.closed {
                return None;
            }
            inner.idle += 1;
            inner = self.bell.wait(inner).unwrap_or_else(PoisonError::into_inner);
            inner.idle -= 1;
        }
    }

    /// A job to follow the one in hand, if there are more than the waiting senders will take.
    pub fn take_following(&self) -> Option<Job> {
        let mut inner = self.inner();
        if inner.jobs.len() > inner.idle { inner.jobs.pop_front() } else { None }
    }

    /// Sends everybody home; the jobs that nobody began come back.
    pub fn close(&self) -> Vec<Job> {
        let mut inner = self.inner();
        inner.closed = true;
        self.bell.notify_all();
        inner.jobs.drain(..).collect()
    }

    pub fn is_closed(&self) -> bool {
        self.inner().closed
    }

    /// How many jobs wait, and how many senders.
    pub fn waiting(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.jobs.len(), inner.idle)
    }

    /// Says that the road works; `true` the first time.
    pub fn prove(&self) -> bool {
        !self.proven.swap(true, Ordering::Relaxed)
    }

    pub fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }
}
