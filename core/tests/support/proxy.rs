//! An HTTP proxy, in several manners.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{limited, ms};

/// What a proxy does with a CONNECT.
#[derive(Clone, Copy)]
pub enum Manner {
    Tunnel,
    /// A tunnel that begins with this.
    TunnelAfter(&'static str),
    /// A tunnel that stops reading for a while after 64 KiB.
    Pausing,
    Respond(&'static str),
    /// The same, and then nothing until the client closes.
    Hold(&'static str),
    Silent,
    Drip,
}

pub struct Proxy {
    pub url: String,
    /// How many connections it got.
    pub asked: Arc<AtomicUsize>,
    /// What each of them asked for.
    pub heads: Arc<Mutex<Vec<String>>>,
}

/// A proxy on loopback. Its threads end with their connections.
pub fn proxy(manner: Manner) -> Proxy {
    limited();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://us%40er:hunter2@{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, heads) = (asked.clone(), Arc::<Mutex<Vec<String>>>::default());
    let kept = heads.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let kept = kept.clone();
            std::thread::spawn(move || serve(stream, manner, &kept));
        }
    });
    Proxy { url, asked, heads }
}

fn serve(mut client: TcpStream, manner: Manner, heads: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    heads.lock().unwrap().push(head.clone());
    assert!(head.starts_with("CONNECT "), "{head}");
    // us@er:hunter2
    let login = head.contains("\r\nProxy-Authorization: Basic dXNAZXI6aHVudGVyMg==\r\n");
    assert!(login || matches!(manner, Manner::Respond(_) | Manner::Hold(_)), "{head}");
    assert!(!head.to_lowercase().contains("bearer"), "only the service gets the key");
    match manner {
        Manner::Tunnel | Manner::TunnelAfter(_) | Manner::Pausing => {
            let target = head.split(' ').nth(1).unwrap();
            let mut service = TcpStream::connect(target).unwrap();
            let begin = match manner {
                Manner::TunnelAfter(begin) => begin,
                _ => "HTTP/1.1 200 Connection established\r\n\r\n",
            };
            client.write_all(begin.as_bytes()).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), service.try_clone().unwrap());
            let up = std::thread::spawn(move || {
                if matches!(manner, Manner::Pausing) {
                    std::io::copy(&mut (&mut from).take(64 << 10), &mut to)?;
                    // The time is what is tested: longer than several slices of a write, with every buffer full.
                    std::thread::sleep(ms(400));
                }
                std::io::copy(&mut from, &mut to)
            });
            drop(std::io::copy(&mut service, &mut client));
            drop(client.shutdown(std::net::Shutdown::Both));
            drop(service.shutdown(std::net::Shutdown::Both));
            drop(up.join());
        }
        Manner::Respond(text) => drop(client.write_all(text.as_bytes())),
        Manner::Hold(text) => {
            client.write_all(text.as_bytes()).unwrap();
            drop(client.read(&mut byte));
        }
        Manner::Silent => drop(client.read(&mut byte)),
        Manner::Drip => {
            for byte in
                b"HTTP/1.1 200 OK\r\nx: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n"
            {
                // The time is what is tested: each byte comes within the slice of a read, the last one after connect_timeout.
                std::thread::sleep(ms(20));
                if client.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        }
    }
}
