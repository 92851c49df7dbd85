/**
 * System calls that the OS sandbox denies, as a filter for `bwrap --seccomp`. Namespaces, mounts and dropped capabilities work without it;
 * it
 * covers the remaining surface (keyrings, sockets to a hypervisor, terminal input injection) and the system calls with the most kernel
 * vulnerabilities.
 */

interface Architecture {
  /** `AUDIT_ARCH_*` of linux/audit.h. */
  readonly audit: number;
  readonly refused: readonly number[];
  /** Calls that report ENOSYS, so that programs fall back to an older call. */
  readonly unknown: readonly number[];
  readonly clone: number;
  readonly ioctl: number;
  readonly socket: number;
  /** The column of this architecture in the tables above. */
  readonly column: 0 | 1;
  /** System calls from this number on belong to another table (x32). */
  readonly foreignFrom: number | null;
}

const names = {
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  move_mount: [429, 429],
  open_tree: [428, 428],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  setns: [308, 268],
  unshare: [272, 97],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  lookup_dcookie: [212, 18],
  fanotify_init: [300, 262],
  vhangup: [153, 58],
  nfsservctl: [180, 42],
} as const;

/** Calls that newer programs try first and can do without. */
const newer = { clone3: [435, 435], io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] } as const;

const column = (table: Readonly<Record<string, readonly [number, number]>>, index: 0 | 1) =>
  Object.values(table).map((pair) => pair[index]);

const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    // iopl and ioperm exist on this architecture only.
    refused: [...column(names, 0), 172, 173],
    unknown: column(newer, 0),
    clone: 56,
    ioctl: 16,
    socket: 41,
    column: 0,
    foreignFrom: 0x40000000,
  },
  arm64: {
    audit: 0xc00000b7,
    refused: column(names, 1),
    unknown: column(newer, 1),
    clone: 220,
    ioctl: 29,
    socket: 198,
    column: 1,
    foreignFrom: null,
  },
};

/** Calls by which a stopped program would be continued: a timer or a message queue can send SIGCONT. Programs do without them. */
const continuing = { timer_create: [222, 107], mq_notify: [244, 184] } as const;
const fcntl = [72, 25] as const;
/** Chooses the signal that a file sends. */
const setSignal = 10;

/** New user, mount, pid, network, ipc, uts and cgroup namespaces. */
const namespaceFlags = 0x7e020000;
/** Injecting input into a terminal, and pasting into a console. */
const terminalTricks = [0x5412, 0x541c];
/** AF_ALG exposes kernel code; AF_VSOCK reaches the hypervisor past the network namespace. */
const refusedSockets = [38, 40];

const load = 0x20;
const equal = 0x15;
const atLeast = 0x35;
const anySet = 0x45;
const answer = 0x06;
const allow = 0x7fff0000;
const killProcess = 0x80000000;
const refuse = 0x00050001; // errno EPERM
const noSuchCall = 0x00050026; // errno ENOSYS
/** Offsets in `struct seccomp_data`; the low half of an argument comes first on both architectures. */
const offsets = { call: 0, architecture: 4, first: 16, second: 24 };

type Instruction = readonly [code: number, value: number, jumpIf?: number, jumpElse?: number];

/**
 * The filter in the kernel's format (`struct sock_filter`, little endian); null for an unsupported processor.
 * @param arch value of `process.arch` @param isPausable also denies system calls that would continue a stopped program
 */
export function seccompFilter(arch: string, isPausable = false): Uint8Array | null {
  const architecture = Object.hasOwn(architectures, arch) ? architectures[arch] : undefined;
  if (architecture === undefined) return null;
  const { audit, refused, clone, ioctl, socket, foreignFrom } = architecture;
  const unknown = [...architecture.unknown, ...(isPausable ? column(continuing, architecture.column) : [])];
  const program: Instruction[] = [
    [load, offsets.architecture],
    [equal, audit, 1, 0],
    [answer, killProcess],
    [load, offsets.call],
  ];
  const when = (number: number, result: number) => program.push([equal, number, 0, 1], [answer, result]);
  if (foreignFrom !== null) program.push([atLeast, foreignFrom, 0, 1], [answer, noSuchCall]);
  for (const number of unknown) when(number, noSuchCall);
  for (const number of refused) when(number, refuse);
  const withArgument = (number: number, offset: number, code: number, values: readonly number[]) => {
    program.push([equal, number, 0, values.length * 2 + 2], [load, offset]);
    for (const value of values) program.push([code, value, 0, 1], [answer, refuse]);
    program.push([answer, allow]);
  };
  withArgument(clone, offsets.first, anySet, [namespaceFlags]);
  withArgument(ioctl, offsets.second, equal, terminalTricks);
  withArgument(socket, offsets.first, equal, refusedSockets);
  if (isPausable) withArgument(fcntl[architecture.column], offsets.second, equal, [setSignal]);
  program.push([answer, allow]);

  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, value, jumpIf, jumpElse]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jumpIf ?? 0);
    bytes.setUint8(index * 8 + 3, jumpElse ?? 0);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
