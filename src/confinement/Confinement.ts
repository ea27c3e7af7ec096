import { existsSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { Effect } from "effect"
import type { NodeProgram } from "./NodeProgram.ts"

/** The isolation of a process from the rest of the machine, besides Node's own permissions. */
export interface Confinement {
  /** The process has no network and sees neither other processes nor the service's data directories. */
  readonly namespaces: boolean
  /** The process runs under an account that owns nothing; this needs a service that runs as root. */
  readonly ownAccount: boolean
  /** The process can't get any capabilities, and ends when the service ends. */
  readonly noPrivileges: boolean
}

/** A way to confine, and the words in front of the command of the process. */
export interface Launcher {
  readonly confinement: Confinement
  readonly words: ReadonlyArray<string>
}

/**
 * An account that no distribution assigns: between those that systemd creates dynamically.
 * Source: systemd, Users, Groups, UIDs and GIDs on Linux Systems.
 */
export const confinedUid = 64_741

/** Mounts an empty directory over each of the first `$1` arguments, and executes the command after them. */
const hideAndRun =
  'n=$1; shift; while [ "$n" -gt 0 ]; do mount -t tmpfs -o ro,nosuid,nodev,noexec,size=4k none "$1" || exit 1; shift; ' +
  'n=$((n - 1)); done; exec "$@"'

/** Directories with the sockets of databases and other daemons, which a namespace alone doesn't hide. */
const socketDirectories = ["/run", tmpdir()]

const privileges = (isRoot: boolean, ownAccount: boolean): ReadonlyArray<string> => [
  "setpriv",
  ...(ownAccount ? [`--reuid=${confinedUid}`, `--regid=${confinedUid}`, "--clear-groups"] : []),
  "--inh-caps=-all",
  ...(isRoot ? ["--bounding-set=-all"] : []),
  "--no-new-privs",
  "--pdeathsig=KILL"
]

const namespaces = (isRoot: boolean, hidden: ReadonlyArray<string>): ReadonlyArray<string> => [
  "setpriv",
  "--pdeathsig=KILL",
  "unshare",
  // Without root the namespaces need one of users, in which the account of the service looks like root.
  ...(isRoot ? [] : ["--user", "--map-root-user"]),
  "--net",
  "--ipc",
  "--pid",
  "--mount",
  "--fork",
  "--kill-child=KILL",
  "sh",
  "-c",
  hideAndRun,
  "sh",
  String(hidden.length),
  ...hidden
]

const unconfined: Launcher = {
  confinement: { namespaces: false, ownAccount: false, noPrivileges: false },
  words: []
}

/** The ways to confine a process, the strongest first. The last one does nothing. */
export const launchersOf = (isRoot: boolean, hidden: ReadonlyArray<string>): ReadonlyArray<Launcher> => [
  ...[true, false].flatMap((isolated) =>
    (isRoot ? [true, false] : [false]).map((ownAccount) => ({
      confinement: { namespaces: isolated, ownAccount, noPrivileges: true },
      words: [
        ...(isolated ? namespaces(isRoot, hidden) : []),
        // In a namespace of users every process of this one begins with all capabilities.
        ...privileges(isRoot || isolated, ownAccount)
      ]
    }))
  ),
  unconfined
]

/** The directories to hide: those of them that exist, and that the program itself does not need. */
const hiddenFrom = (program: NodeProgram, directories: ReadonlyArray<string>): ReadonlyArray<string> => {
  const needed = [process.execPath, program.entry, ...program.readable].map((path) => realpathSync(path))
  const found = directories.filter((path) => existsSync(path)).map((path) => realpathSync(path))
  return [...new Set(found)].filter((path) => !needed.some((one) => `${one}/`.startsWith(`${path}/`)))
}

/** A program whose process is to be confined. */
interface Confinable {
  readonly program: NodeProgram
  /** The processes in the log line that says what their confinement lacks. */
  readonly processes: string
  /** The service's directory, which is hidden from them. */
  readonly dataDirectory: string
  /** True if the program, with a launcher, starts and does its work. */
  readonly works: (program: NodeProgram) => Effect.Effect<boolean>
}

/**
 * Finds the strongest way to confine a program that works here, by trying each. Containers and hardened
 * kernels refuse some ways; `missing` says what the confinement lacks, with the remedies, and is logged.
 */
export const confine = Effect.fn("Confinement.confine")(function* ({
  dataDirectory,
  processes,
  program,
  works
}: Confinable) {
  const isRoot = process.getuid?.() === 0
  const hidden = hiddenFrom(program, [dataDirectory, ...socketDirectories])
  const launchers = process.platform === "linux" ? launchersOf(isRoot, hidden) : [unconfined]
  let found: Launcher = unconfined
  for (const launcher of launchers) {
    found = launcher
    if (launcher === unconfined || (yield* works({ ...program, launcher: launcher.words }))) break
  }
  const missing = missingFrom(found.confinement, isRoot)
  if (missing.length > 0) {
    yield* Effect.logWarning(`${processes} are not fully confined. ${missing.join(" ")}`)
  }
  return { program: { ...program, launcher: found.words }, confinement: found.confinement, missing }
})

/** The lacks of a confinement, each with the remedy. */
export const missingFrom = (
  { namespaces: isolated, noPrivileges, ownAccount }: Confinement,
  isRoot: boolean
): ReadonlyArray<string> => [
  ...(isolated
    ? []
    : [
        "They share the network of the service: let it use namespaces (util-linux; in a container, user namespaces)."
      ]),
  ...(isRoot && !ownAccount
    ? [
        "They run as root: run the service as an account of its own, or let every account read the directory it is installed in."
      ]
    : []),
  ...(noPrivileges ? [] : ["They keep the privileges of the service: install setpriv (util-linux)."])
]
