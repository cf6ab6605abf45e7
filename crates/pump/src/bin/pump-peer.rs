//! What runs inside benches in the tests and measurements of this crate: the inside itself, and
//! small programs for both ends.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["inside"] => pump::init_main(),
        ["serve", address] => serve(address),
        ["fetch", address, bytes] => bytes.parse().map_or(Ok(()), |bytes| fetch(address, bytes)),
        ["burn", ms] => ms.parse().map_or(Ok(()), burn),
        _ => {
            eprintln!("usage: pump-peer inside | serve ADDRESS | fetch ADDRESS BYTES | burn MS");
            std::process::exit(2);
        }
    };
    if let Err(e) = done {
        eprintln!("pump-peer {}: {e}", words.join(" "));
        std::process::exit(1);
    }
}

/// Answers each connection's eight bytes with as many as they say. Prints a line when ready
/// and one when a client has closed.
fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("ready");
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut wanted = [0; 8];
        stream.read_exact(&mut wanted)?;
        io::copy(
            &mut io::repeat(b'x').take(u64::from_le_bytes(wanted)),
            &mut stream,
        )?;
        stream.shutdown(std::net::Shutdown::Write)?;
        io::copy(&mut stream, &mut io::sink())?;
        println!("served");
    }
    Ok(())
}

/// Asks for so many bytes and prints how many came, the time it took in ns, and the peer.
fn fetch(address: &str, bytes: u64) -> io::Result<()> {
    let address = address
        .to_socket_addrs()?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    let started = std::time::Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&bytes.to_le_bytes())?;
    let got = io::copy(&mut stream, &mut io::sink())?;
    println!("{got} {} {address}", started.elapsed().as_nanos());
    Ok(())
}

/// Keeps a core busy.
fn burn(ms: u64) -> io::Result<()> {
    let until = std::time::Instant::now() + std::time::Duration::from_millis(ms);
    while std::time::Instant::now() < until {
        std::hint::spin_loop();
    }
    Ok(())
}
