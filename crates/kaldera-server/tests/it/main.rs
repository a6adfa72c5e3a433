//! A server and its clients in one process. `check-clients.sh` has clients that others wrote.

mod faults;
mod files;
mod live;
mod server;
