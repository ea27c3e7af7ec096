import { Effect } from "effect"
import { commandsWith } from "../documents/Reading.ts"

/** The processes of Node that check schemas for this one, directly or below a launcher. */
export const schemaProcesses = Effect.map(commandsWith("/schemas/child.ts"), (found) => {
  const below = new Set([process.pid])
  for (const { parent, pid } of found.toSorted((one, other) => one.pid - other.pid)) {
    if (below.has(parent)) below.add(pid)
  }
  return found
    .filter(({ command, pid }) => below.has(pid) && command.startsWith(process.execPath))
    .map(({ pid }) => pid)
})
