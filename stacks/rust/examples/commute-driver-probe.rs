//! A driver that tries what a driver must not do, for the test of the confinement: hyper's, which tries everything before
//! its first reply and reports the outcomes among its settings.
//!
//! The argument is a file with what the test has prepared on the machine, one a line: see [`Machine`]. As arguments, the
//! lab would make its files visible.

#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "system calls on this process only, whose pointers live through the call"
)]

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Reconnect, Setup};
use engine::channel::open;
use engine::origin::Origin;
use engine::request::HttpRequest;
use engine::serve::{converse, exit_code};
use engine::stack::{ConnInfo, Stack};
use engine::stack_error::StackError;
use engine::stacks::hyper::{Conn, Hyper};
use engine::trace::Trace;

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// Written to private folders, where the next cell looks for it.
const MARK: &str = "commute-probe-mark";
/// Key of the shared memory that the next cell looks for.
const SHARED_MEMORY: libc::key_t = 0x636f_6d6d;
/// More than a process may use, in one piece, and more than a half of what all files may have.
const MEMORY_BYTES: usize = 5 << 30;
const FILE_BYTES: i64 = 600 << 20;
const LONG_FILE_BYTES: i64 = 2 << 30;
const MAX_PROCESSES: u64 = 4096;

/// The outcomes, once everything has been tried.
static OUTCOMES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// What the test has prepared.
struct Machine {
    /// A file that everybody can read, in a folder of the user's.
    file: String,
    /// A Unix socket beside it that everybody can connect to.
    socket: String,
    /// An abstract one.
    abstract_name: String,
    /// A TCP port of the machine's loopback.
    address: String,
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let prepared = fs::read_to_string(argument).unwrap_or_default();
    let prepared: Vec<String> = prepared.lines().map(str::to_owned).collect();
    let Ok([file, socket, abstract_name, address]) = <[String; 4]>::try_from(prepared) else {
        eprintln!("give a file with what is prepared on the machine, in four lines");
        return ExitCode::FAILURE;
    };
    let machine = Machine {
        file,
        socket,
        abstract_name,
        address,
    };
    OUTCOMES.get_or_init(|| try_all(&machine));
    exit_code(open().and_then(|(requests, mut replies)| converse::<Probe>(requests, &mut replies)))
}

/// Tries everything, and returns for each whether it was `allowed` or `denied`.
fn try_all(machine: &Machine) -> BTreeMap<String, String> {
    let mut outcomes = BTreeMap::new();
    for (name, tried) in [
        files(machine),
        processes(),
        privileges(),
        network(machine),
        limits(),
    ]
    .into_iter()
    .flatten()
    {
        let outcome = if tried.is_ok() { "allowed" } else { "denied" };
        eprintln!("{name}: {tried:?}");
        outcomes.insert(name, outcome.to_owned());
    }
    outcomes
}

type Tried = (String, io::Result<()>);

fn tried(name: &str, result: io::Result<()>) -> Tried {
    (name.to_owned(), result)
}

fn files(machine: &Machine) -> Vec<Tried> {
    let mut all = Vec::new();
    for dir in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
        let mark = Path::new(dir).join(MARK);
        let found = fs::metadata(&mark).map(drop);
        all.push(tried(
            &format!("find a file that another cell wrote to `{dir}`"),
            found,
        ));
        all.push(tried(
            &format!("write a file to its own `{dir}`"),
            write(&mark),
        ));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let mark = Path::new(&home).join(MARK);
    all.push(tried(
        "find a file that another cell wrote to its home",
        fs::metadata(&mark).map(drop),
    ));
    all.push(tried("write a file to its own home", write(&mark)));
    let own = std::env::current_exe().unwrap_or_default();
    let stack = own.parent().unwrap_or(Path::new("/"));
    let user = Path::new(&machine.file).parent().unwrap_or(Path::new("/"));
    for (name, dir) in [
        ("write a file to `/etc`", Path::new("/etc")),
        ("write a file to `/usr/local`", Path::new("/usr/local")),
        ("write a file to its stack's folder", stack),
        (
            "write a file to a folder of the user's that is open to all",
            user,
        ),
        (
            "write a file to the server's folder",
            Path::new("../server"),
        ),
    ] {
        all.push(tried(name, write(&dir.join(MARK))));
    }
    for (name, file) in [
        ("change `core_pattern`", "/proc/sys/kernel/core_pattern"),
        ("write to the kernel's log", "/dev/kmsg"),
        ("append to the server's log", "../server/server.ndjson"),
    ] {
        let opened = OpenOptions::new().append(true).open(file);
        all.push(tried(name, opened.map(drop)));
    }
    for (name, file) in [
        ("read `/etc/shadow`", "/etc/shadow"),
        (
            "read a file of the user's that is open to all",
            &machine.file,
        ),
        ("read the server's keys", "../server/credentials/client.key"),
        ("read the kernel's memory", "/proc/kcore"),
    ] {
        let read = File::open(file).and_then(|mut file| io::Read::read(&mut file, &mut [0; 8]));
        all.push(tried(name, read.map(drop)));
    }
    let found = check(unsafe { libc::shmget(SHARED_MEMORY, 0, 0) });
    all.push(tried(
        "find shared memory (System V) of another cell",
        found,
    ));
    let made = unsafe { libc::shmget(SHARED_MEMORY, 4096, libc::IPC_CREAT | 0o666) };
    all.push(tried("make shared memory (System V)", check(made)));
    all
}

fn write(file: &Path) -> io::Result<()> {
    fs::write(file, "x")
}

fn processes() -> Vec<Tried> {
    let server = server();
    let pid = server.unwrap_or(1);
    let of_server = |name: &str| format!("/proc/{pid}/{name}");
    vec![
        tried(
            "see the server's process",
            server.map(drop).ok_or_else(io::Error::last_os_error),
        ),
        tried("signal the server", check(unsafe { libc::kill(pid, 0) })),
        tried(
            "read the server's memory",
            File::open(of_server("mem")).map(drop),
        ),
        tried(
            "read the server's files through `/proc`",
            fs::read_dir(of_server("cwd")).map(drop),
        ),
        tried(
            "read the environment of the bench's init",
            fs::read("/proc/1/environ").map(drop),
        ),
        tried(
            "reach the machine's files through its root",
            fs::read_dir("/proc/1/root").map(drop),
        ),
        tried("trace the bench's init", trace(1)),
        tried("enter its network namespace", enter_network(1)),
    ]
}

/// Returns the process of `commute serve`.
fn server() -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?;
    let mut pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(1) == Some(b"serve")
    })
}

fn trace(pid: i32) -> io::Result<()> {
    check_long(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) })
}

fn enter_network(pid: i32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
    check(unsafe {
        libc::setns(
            std::os::fd::AsRawFd::as_raw_fd(&namespace),
            libc::CLONE_NEWNET,
        )
    })
}

fn privileges() -> Vec<Tried> {
    let call = |number: libc::c_long, arguments: [libc::c_long; 6]| {
        let [a, b, c, d, e, f] = arguments;
        check_long(unsafe { libc::syscall(number, a, b, c, d, e, f) })
    };
    let space = [0_u64; 32];
    let at = space.as_ptr() as libc::c_long;
    let key = (
        c"user".as_ptr() as libc::c_long,
        c"probe".as_ptr() as libc::c_long,
    );
    let user_keyring = -4;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    let none = |name| match u64::from_str_radix(&field(name), 16) {
        Ok(0) => Err(io::Error::other("the set is empty")),
        _ => Ok(()),
    };
    let new_privileges = match field("NoNewPrivs:").as_str() {
        "1" => Err(io::Error::other("no new privileges")),
        _ => Ok(()),
    };
    let clock = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let fifo = libc::sched_param { sched_priority: 1 };
    // A program that inherits the flags of a fork, and ends at once.
    let clone = |flags: libc::c_int| {
        let flags = (flags | libc::SIGCHLD) as libc::c_long;
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        match pid {
            0 => unsafe { libc::_exit(0) },
            _ => check_long(pid),
        }
    };
    vec![
        tried("have a capability", none("CapEff:")),
        tried(
            "gain a capability by an exec (bounding set)",
            none("CapBnd:"),
        ),
        tried("gain privileges from a set-user-ID program", new_privileges),
        tried(
            "become root",
            check(unsafe { libc::setuid(0) }).and(is_root()),
        ),
        tried("mount a file system", mount()),
        tried(
            "change its root",
            check(unsafe { libc::chroot(c"/".as_ptr()) }),
        ),
        tried(
            "create a user namespace (clone)",
            clone(libc::CLONE_NEWUSER),
        ),
        tried(
            "create a user namespace (clone3)",
            clone3(libc::CLONE_NEWUSER),
        ),
        tried(
            "create a user namespace (unshare)",
            unshare(libc::CLONE_NEWUSER),
        ),
        tried("create a network namespace", unshare(libc::CLONE_NEWNET)),
        tried(
            "use io_uring",
            call(libc::SYS_io_uring_setup, [8, at, 0, 0, 0, 0]),
        ),
        tried(
            "load a BPF program",
            call(libc::SYS_bpf, [0, at, 120, 0, 0, 0]),
        ),
        tried(
            "count the kernel's events (perf)",
            call(libc::SYS_perf_event_open, [at, 0, -1, -1, 0, 0]),
        ),
        tried("use userfaultfd", call(libc::SYS_userfaultfd, [0; 6])),
        tried(
            "keep a key in the kernel",
            call(libc::SYS_add_key, [key.0, key.1, at, 8, user_keyring, 0]),
        ),
        tried(
            "set the clock",
            check(unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &clock) }),
        ),
        tried(
            "run in real time",
            check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &fifo) }),
        ),
        tried(
            "raise its priority",
            check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -5) }),
        ),
    ]
}

fn is_root() -> io::Result<()> {
    match unsafe { libc::getuid() } {
        0 => Ok(()),
        _ => Err(io::Error::other("still not root")),
    }
}

fn mount() -> io::Result<()> {
    let (none, target, kind) = (c"none", c"/mnt", c"tmpfs");
    let data = std::ptr::null();
    check(unsafe { libc::mount(none.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, data) })
}

/// Tries to unshare in a child, so that this process stays as it is.
fn unshare(flags: libc::c_int) -> io::Result<()> {
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = unsafe { libc::unshare(flags) };
        unsafe { libc::_exit(i32::from(code != 0)) };
    }
    ended_well(pid)
}

fn clone3(flags: libc::c_int) -> io::Result<()> {
    // The first fields of `struct clone_args` of linux/sched.h.
    let arguments: [u64; 8] = [flags as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    let size = size_of_val(&arguments);
    let pid = unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size) };
    if pid == 0 {
        unsafe { libc::_exit(0) };
    }
    check_long(pid)
}

fn ended_well(pid: i32) -> io::Result<()> {
    let mut status = 0;
    check(unsafe { libc::waitpid(pid, &mut status, 0) })?;
    match status {
        0 => Ok(()),
        _ => Err(io::Error::other("refused")),
    }
}

fn network(machine: &Machine) -> Vec<Tried> {
    let socket = |family, kind| {
        let fd = unsafe { libc::socket(family, kind, 0) };
        check(fd)
    };
    let connect = |address: &str| {
        let address = address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("no address"))?;
        TcpStream::connect_timeout(&address, CONNECT_LIMIT).map(drop)
    };
    let abstract_name = SocketAddr::from_abstract_name(&machine.abstract_name);
    let bus = UnixStream::connect("/run/dbus/system_bus_socket");
    vec![
        tried(
            "connect to a Unix socket of the machine",
            UnixStream::connect(&machine.socket).map(drop),
        ),
        tried("connect to the machine's D-Bus", bus.map(drop)),
        tried(
            "connect to an abstract Unix socket of the machine",
            abstract_name
                .and_then(|name| UnixStream::connect_addr(&name))
                .map(drop),
        ),
        tried(
            "connect to the machine's loopback",
            connect(&machine.address),
        ),
        tried("connect to another machine", connect("192.0.2.1:80")),
        tried("open a raw socket", socket(libc::AF_INET, libc::SOCK_RAW)),
        tried(
            "open a packet socket",
            socket(libc::AF_PACKET, libc::SOCK_RAW),
        ),
        tried(
            "open a socket to the hypervisor (vsock)",
            socket(libc::AF_VSOCK, libc::SOCK_STREAM),
        ),
        tried(
            "open a socket to the kernel's ciphers",
            socket(libc::AF_ALG, libc::SOCK_SEQPACKET),
        ),
    ]
}

fn limits() -> Vec<Tried> {
    // A file that is too long would otherwise end this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut most = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut most) };
    let processes = match most.rlim_cur {
        0..=MAX_PROCESSES => Err(io::Error::other("limited")),
        _ => Ok(()),
    };
    let (first, second) = (
        allocate("first", FILE_BYTES),
        allocate("second", FILE_BYTES),
    );
    let long = allocate("long", LONG_FILE_BYTES);
    for name in ["first", "second", "long"] {
        fs::remove_file(name).ok();
    }
    vec![
        tried("use 5 GiB of private memory", use_memory()),
        tried("write a file of 2 GiB", long),
        tried("write files of more than 1 GiB in all", first.and(second)),
        tried("start more than 4,096 processes", processes),
    ]
}

fn allocate(name: &str, bytes: i64) -> io::Result<()> {
    let file = File::create(name)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    match unsafe { libc::posix_fallocate(fd, 0, bytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Maps memory without touching it: the limit counts what may be written.
fn use_memory() -> io::Result<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY_BYTES, access, kind, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    check(unsafe { libc::munmap(mapped, MEMORY_BYTES) })
}

fn check(returned: libc::c_int) -> io::Result<()> {
    check_long(returned.into())
}

fn check_long(returned: libc::c_long) -> io::Result<()> {
    match returned {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// hyper, with the outcomes among its settings.
struct Probe(Hyper);

impl Stack for Probe {
    type Conn = Conn;
    type Request = HttpRequest;

    fn hello() -> Hello {
        Hello {
            stack: "probe".into(),
            settings: OUTCOMES.get().cloned().unwrap_or_default(),
            ..Hyper::hello()
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        Hyper::new(setup).map(Probe)
    }

    fn origin(&self) -> &Origin {
        self.0.origin()
    }

    fn shares_connection(&self) -> bool {
        self.0.shares_connection()
    }

    fn prepare(&self, id: u32, action: &Action, payload: Bytes) -> Result<HttpRequest, StackError> {
        self.0.prepare(id, action, payload)
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        self.0.connect(mode, trace).await
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        self.0.call(conn, request, trace).await
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        self.0.conn_info(conn)
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        self.0.is_usable(conn)
    }

    async fn close(&self, conn: Conn) {
        self.0.close(conn).await;
    }

    fn discard_tickets(&self) {
        self.0.discard_tickets();
    }
}
