//! Profiles of members: each request loads the profile of the next member, and tells what is on his page.
//!
//!     profile guilty|clean PORT THREADS
//!
//! The store answers after two milliseconds. The guilty one asks it by an old client that blocks the thread, which is one of a few
//! that run all tasks; the clean one awaits the answer.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the store takes to answer.
const ANSWER: Duration = Duration::from_millis(2);

#[derive(Serialize)]
struct Profile {
    member: u64,
    name: String,
    badges: Vec<&'static str>,
    followers: u64,
}

/// The client of the store.
struct Store {
    blocks: bool,
    members: u64,
    asked: AtomicU64,
}

impl Store {
    /// The row of a member as the store keeps it; `None` where the member has left.
    async fn load_profile(&self, member: u64) -> Option<String> {
        if self.blocks {
            std::thread::sleep(ANSWER); // GUILTY
        } else {
            tokio::time::sleep(ANSWER).await;
        }
        (member < self.members).then(|| format!("{member};member-{member};{};{}", member % 8, member * 37 % 5000))
    }

    fn next_member(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed) % self.members
    }
}

/// Reads a row of the store.
fn parse(row: &str) -> Option<Profile> {
    let mut fields = row.split(';');
    let member = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_owned();
    let kinds: u64 = fields.next()?.parse().ok()?;
    let followers = fields.next()?.parse().ok()?;
    let all = ["founder", "reviewer", "translator"];
    let badges = all.into_iter().enumerate().filter(|(at, _)| kinds >> at & 1 == 1).map(|(_, badge)| badge).collect();
    Some(Profile { member, name, badges, followers })
}

async fn show(State(store): State<Arc<Store>>) -> Result<Json<Profile>, StatusCode> {
    let row = store.load_profile(store.next_member()).await.ok_or(StatusCode::NOT_FOUND)?;
    parse(&row).map(Json).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
}

async fn serve(port: u16, store: Store) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, Router::new().route("/profile", get(show)).with_state(Arc::new(store))).await
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, port, threads] = arguments.as_slice() else {
        return Err("usage: profile guilty|clean PORT THREADS".into());
    };
    let store = Store { blocks: kind == "guilty", members: 10_000, asked: AtomicU64::new(0) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads.parse()?).enable_all().build()?;
    runtime.block_on(serve(port.parse()?, store))?;
    Ok(())
}
