//! Requests that a server answered, and replies that it waited for meanwhile.
//!
//! A request takes from its first data until the answer begins; a reply from sending until it begins. The sum of one over
//! that of the other is the share of the requests' time that waits for replies, whatever the threads do meanwhile.

use super::run::Traced;
use crate::answer::{Requests, ServiceReplies};
use recording::WaitId;
use recording::tables::{Peer, PeerSide, Wait};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// Decides: which reason a wait at sockets has: whoever sent the data that ended most of its time.
/// From: the definition of a majority.
/// Shown by: `a_wait_belongs_to_who_ended_most_of_it`.
/// Wrong if: a thread waits at one place for both in equal parts: the smaller half is then booked to the other side.
const MOST: f64 = 0.5;

/// The requests of a run; `None` where none were counted.
pub fn requests(traced: &Traced<'_>) -> Option<Requests> {
    let exchanges = || traced.peers.iter().copied().filter(|peer| peer.wait.is_none());
    let clients = || exchanges().filter(|peer| peer.side == PeerSide::Clients);
    let seconds = |peer: &Peer| peer.exchange_ns as f64 * 1e-9;
    let count = clients().fold(0_u64, |sum, peer| sum.saturating_add(peer.exchanges));
    if count == 0 {
        return None;
    }
    let number = count as f64;
    let all: f64 = clients().map(seconds).sum();
    // For each service: the program there, how many replies, and how long all of them took.
    let mut services: BTreeMap<&str, (Option<&str>, f64, f64)> = BTreeMap::new();
    for peer in exchanges().filter(|peer| peer.exchanges > 0 && is_service(traced, peer)) {
        let found = services.entry(&peer.address).or_insert((peer.name.as_deref(), 0.0, 0.0));
        found.1 += peer.exchanges as f64;
        found.2 += seconds(peer);
    }
    let mut services: Vec<ServiceReplies> = services
        .into_iter()
        .map(|(address, (program, replies, took))| ServiceReplies {
            address: address.to_owned(),
            program: program.map(str::to_owned),
            replies_per_request: replies / number,
            seconds: took / replies,
            share: took / all.max(f64::MIN_POSITIVE),
        })
        .collect();
    services.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.address.cmp(&b.address)));
    let run = traced.length_ns().max(1) as f64 * 1e-9;
    Some(Requests { threads: traced.shown_count(), count, per_second: number / run, seconds: all / number, services })
}

/// True for a service that is not the program itself.
fn is_service(traced: &Traced<'_>, peer: &Peer) -> bool {
    let own = EndPoint::from_address(&peer.address);
    let is_own = |other: &&Peer| other.side == PeerSide::Clients && EndPoint::from_address(&other.address) == own;
    peer.side == PeerSide::Service && !traced.peers.iter().copied().any(|other| is_own(&other))
}

/// Where connections end.
#[derive(Debug, PartialEq, Eq)]
enum EndPoint<'t> {
    /// At this port of this machine. A server's connections from its clients are recorded as `port 80`, a client's
    /// connection to that server as `127.0.0.1:80`.
    Here(u16),
    /// Elsewhere, or at a socket in the file system.
    At(&'t str),
}

impl EndPoint<'_> {
    fn from_address(address: &str) -> EndPoint<'_> {
        let local = || address.parse().ok().filter(|at: &SocketAddr| at.ip().to_canonical().is_loopback());
        let served = || address.strip_prefix("port ").and_then(|port| port.parse().ok());
        local().map(|at| at.port()).or_else(served).map_or(EndPoint::At(address), EndPoint::Here)
    }
}

/// For each wait that mostly ends with a service's reply, the service. Which waits are at sockets at all is not decided
/// here: threads of a task scheduler wait for the one of them that does.
///
/// A thread that wakes up for data and leaves it to another thread tells nothing. Then the requests decide: while there
/// are more of them under way than processors, threads do not wait for the next one, but for what most of the requests'
/// time waits for.
pub fn waits_for_services<'t>(traced: &Traced<'t>) -> HashMap<WaitId, &'t Peer> {
    let mut all: HashMap<WaitId, f64> = HashMap::new();
    let mut of: HashMap<WaitId, (f64, &Peer)> = HashMap::new();
    for peer in traced.peers.iter().copied() {
        let Some(wait) = peer.wait else { continue };
        let waited = peer.waited_ns as f64;
        *all.entry(wait).or_default() += waited;
        if is_service(traced, peer) {
            let (sum, largest) = of.entry(wait).or_insert((0.0, peer));
            *sum += waited;
            if peer.waited_ns > largest.waited_ns {
                *largest = peer;
            }
        }
    }
    let held_back = held_back(traced);
    let service = |wait: &Wait| {
        let told = all.get(&wait.wait).copied().unwrap_or(0.0);
        match told > MOST * wait.blocked_ns as f64 {
            true => of.get(&wait.wait).filter(|(sum, _)| *sum > MOST * told).map(|(_, peer)| *peer),
            false => held_back,
        }
    };
    traced.waits.values().filter_map(|wait| Some((wait.wait, service(wait)?))).collect()
}

/// The service that holds back requests: they wait for it most of their time, and on average more of them are under way
/// than there are processors (their number is how many come a second times how long each takes, by Little's law).
fn held_back<'t>(traced: &Traced<'t>) -> Option<&'t Peer> {
    let found = requests(traced)?;
    let under_way = found.per_second * found.seconds;
    let service = found.services.first().filter(|service| service.share > MOST)?;
    let enough = under_way > f64::from(traced.processors());
    traced.peers.iter().copied().find(|peer| enough && peer.address == service.address)
}

/// How a service is called: `127.0.0.1:5432 (postgres)`.
pub fn called(address: &str, program: Option<&str>) -> String {
    program.map_or_else(|| address.to_owned(), |program| format!("{address} ({program})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use recording::Tables;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Reason;

    const AT: &str = "epoll_wait@libc.so.6 < serve@server server.c:20";

    /// One thread that waits at one place. `rows`: side, address, exchanges, and for how many milliseconds it waited.
    fn server(rows: &[(PeerSide, &str, u64, u64)]) -> Tables {
        let mut tables = Sketch::new(2)
            .traced(1, |run| {
                run.thread("a").runs(ms(10), "work@server server.c:9").blocks(Reason::Poll, ms(90), AT);
                for (side, address, exchanges, waited) in rows {
                    run.peer("a", *side, address, (*exchanges, ms(*exchanges)), (AT, ms(*waited)));
                }
            })
            .tables();
        tables.traces.iter_mut().for_each(|trace| trace.listens = Some(true));
        tables
    }

    #[test]
    fn requests_and_replies_are_summed_up() {
        let tables = server(&[
            (PeerSide::Clients, "port 80", 30, 1),
            (PeerSide::Service, "10.0.0.7:5432", 20, 1),
            (PeerSide::Service, "127.0.0.1:80", 5, 1),
        ]);
        let model = Model::new(&tables);
        let found = requests(&model.traced[0]).unwrap();
        assert_eq!((found.count, (found.seconds * 1e3).round()), (30, 1.0));
        let services: Vec<_> =
            found.services.iter().map(|s| (s.address.as_str(), (30.0 * s.replies_per_request).round())).collect();
        assert_eq!(services, [("10.0.0.7:5432", 20.0)], "what it sends to its own port is no service");
        let none = server(&[(PeerSide::Service, "10.0.0.7:5432", 20, 1)]);
        assert_eq!(requests(&Model::new(&none).traced[0]), None);
    }

    /// The same name in another folder is another service.
    #[test]
    fn a_path_at_which_the_program_listens_is_no_service() {
        let tables = server(&[
            (PeerSide::Clients, "/run/app/socket", 30, 1),
            (PeerSide::Clients, "port 80", 10, 1),
            (PeerSide::Service, "/run/app/socket", 5, 1),
            (PeerSide::Service, "/run/database/socket", 20, 1),
            (PeerSide::Service, "@socket", 4, 1),
            (PeerSide::Service, "./127.0.0.1:80", 3, 1),
        ]);
        let found = requests(&Model::new(&tables).traced[0]).unwrap();
        assert_eq!(found.count, 40, "of both kinds");
        let services: Vec<_> = found.services.iter().map(|service| service.address.as_str()).collect();
        assert_eq!(services, ["/run/database/socket", "@socket", "./127.0.0.1:80"]);
    }

    #[test]
    fn a_wait_belongs_to_who_ended_most_of_it() {
        let service = |waited| (PeerSide::Service, "10.0.0.7:5432", 20, waited);
        for (for_service, for_clients, told) in [(60, 20, true), (20, 60, false), (40, 40, false), (30, 5, false)] {
            let tables = server(&[service(for_service), (PeerSide::Clients, "port 80", 20, for_clients)]);
            let model = Model::new(&tables);
            assert_eq!(waits_for_services(&model.traced[0]).len(), usize::from(told), "{for_service} {for_clients}");
        }
    }

    /// Threads that leave what they receive to others.
    #[test]
    fn more_requests_than_processors_do_not_wait_for_the_next() {
        // Of 100 ms, each of 100 requests takes 1 ms per unit: so many are under way.
        for (requests, replies, told) in [(300, 290, true), (300, 100, false), (150, 140, false)] {
            let peers = [(PeerSide::Clients, "port 80", requests, 1), (PeerSide::Service, "10.0.0.7:5432", replies, 1)];
            let tables = server(&peers);
            let model = Model::new(&tables);
            assert_eq!(waits_for_services(&model.traced[0]).len(), usize::from(told), "{requests} {replies}");
        }
    }
}
