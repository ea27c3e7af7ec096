import { spawn } from "node:child_process"
import { constants } from "node:os"

/** A reason to stop that the person at the terminal can act on; printed without a stack. */
export class Trouble extends Error {}

const forwarded = ["SIGTERM", "SIGHUP", "SIGINT"]

/**
 * Runs a command to its end, passes signals on to it, and resolves to its exit code and signal. Signals that
 * arrive before the child has started are passed on as soon as it has.
 */
export const run = (command, args, options = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: "inherit", ...options })
    const forward = (signal) => {
      // A terminal sends Ctrl-C to the child as well, and each one counts: the second means "stop at once".
      if (signal === "SIGINT" && process.stdin.isTTY) return
      child.kill(signal)
    }
    for (const signal of forwarded) process.on(signal, forward)
    const settle = (then) => (value) => {
      for (const signal of forwarded) process.off(signal, forward)
      then(value)
    }
    child.once("error", settle(reject))
    child.once("exit", (code, signal) => settle(resolve)({ code, signal }))
  })

/** True if a command ended well. */
export const succeeded = ({ code }) => code === 0

/** Ends this process as the command ended. */
const endAs = ({ code, signal }) => {
  if (signal === null) process.exit(code)
  process.kill(process.pid, signal)
  // The signal may be one that this process ignores.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1_000)
}

/** The whole of a script: `work` resolves to how the script must end. */
export const script = async (work) => {
  try {
    endAs(await work())
  } catch (error) {
    process.stderr.write(`${error instanceof Trouble ? error.message : (error?.stack ?? error)}\n`)
    process.exit(1)
  }
}
