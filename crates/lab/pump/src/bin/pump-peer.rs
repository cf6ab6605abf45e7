//! The program that runs inside benches in the tests and benches of this crate: their init process,
//! and small programs for both ends.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let verb: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match verb[..] {
        ["init"] => pump::init_main(),
        ["facts"] => facts(),
        ["foreground", program, ref args @ ..] => run(true, program, args),
        ["background", program, ref args @ ..] => run(false, program, args),
        ["serve", address] => serve(address),
        ["fetch", address, bytes] => fetch(address, bytes),
        ["burst", address, size, count] => burst(address, size, count),
        ["burn", ms] => burn(ms),
        _ => {
            eprintln!(
                "usage: pump-peer init | facts | foreground PROGRAM ARGS | background PROGRAM ARGS | \
                 serve ADDRESS | fetch ADDRESS BYTES | burst ADDRESS SIZE COUNT | burn MS"
            );
            std::process::exit(2);
        }
    };
    if let Err(e) = result {
        eprintln!("pump-peer {}: {e}", verb.join(" "));
        std::process::exit(1);
    }
}

/// Starts a bench and prints its properties.
fn facts() -> io::Result<()> {
    println!("{:#?}", bench()?.facts());
    Ok(())
}

/// Runs a program at the client with this process's streams, and prints how it ended.
fn run(foreground: bool, program: &str, args: &[&str]) -> io::Result<()> {
    let clone = |fd: BorrowedFd<'_>| fd.try_clone_to_owned();
    let spawn = pump::Spawn {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/sbin:/usr/bin:/bin".into())],
        fds: vec![
            (clone(io::stdin().as_fd())?, 0),
            (clone(io::stdout().as_fd())?, 1),
            (clone(io::stderr().as_fd())?, 2),
        ],
        foreground,
        ..pump::Spawn::default()
    };
    let mut bench = bench()?;
    let mut process = bench
        .spawn(pump::Side::Client, spawn)
        .map_err(io::Error::other)?;
    let exit = process.wait(None).map_err(io::Error::other)?;
    println!("ended: {:?}", exit.map(|exit| exit.status));
    Ok(())
}

fn bench() -> io::Result<pump::Bench> {
    let options = pump::BenchOptions {
        init: pump::Init {
            program: std::env::current_exe()?,
            args: vec!["init".into()],
        },
        names: Vec::new(),
        jobs: 1,
        visible: Vec::new(),
        hidden: Vec::new(),
    };
    pump::Bench::start(&options).map_err(io::Error::other)
}

/// Reads a number of eight bytes from each connection and sends as many bytes back. Prints a line
/// when ready and one after each client.
fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("ready");
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut count = [0; 8];
        stream.read_exact(&mut count)?;
        io::copy(
            &mut io::repeat(b'x').take(u64::from_le_bytes(count)),
            &mut stream,
        )?;
        stream.shutdown(std::net::Shutdown::Write)?;
        io::copy(&mut stream, &mut io::sink())?;
        println!("served");
    }
    Ok(())
}

/// Requests a number of bytes. Prints how many arrived, the time that took in ns, and the peer.
fn fetch(address: &str, bytes: &str) -> io::Result<()> {
    let bytes: u64 = bytes.parse().map_err(io::Error::other)?;
    let address = address
        .to_socket_addrs()?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    let started = std::time::Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&bytes.to_le_bytes())?;
    let received = io::copy(&mut stream, &mut io::sink())?;
    println!("{received} {} {address}", started.elapsed().as_nanos());
    Ok(())
}

/// Sends `count` datagrams of `size` bytes with one system call (UDP_SEGMENT), as QUIC stacks do.
fn burst(address: &str, size: &str, count: &str) -> io::Result<()> {
    let number = |text: &str| text.parse::<u16>().map_err(io::Error::other);
    let (size, count) = (number(size)?, number(count)?);
    let address = address
        .to_socket_addrs()?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    let any: SocketAddr = if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    let segment = i32::from(size);
    // SAFETY: `segment` is valid for its four bytes through the call.
    let set = unsafe {
        let (level, option) = (libc::SOL_UDP, libc::UDP_SEGMENT);
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const segment).cast(),
            4,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    socket.send_to(&vec![b'x'; usize::from(size) * usize::from(count)], address)?;
    Ok(())
}

/// Uses `ms` of CPU time.
fn burn(ms: &str) -> io::Result<()> {
    let ms: u64 = ms.parse().map_err(io::Error::other)?;
    let used_ms = || {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        used.tv_sec as u64 * 1000 + used.tv_nsec as u64 / 1_000_000
    };
    while used_ms() < ms {
        std::hint::spin_loop();
    }
    Ok(())
}
