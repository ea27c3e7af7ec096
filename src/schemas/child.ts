import { Script } from "node:vm"
import { removeGlobals } from "../confinement/removeGlobals.ts"
import { denyModules } from "./GeneratedCode.ts"
import { grammarMismatch } from "./Grammars.ts"
import type { SchemaAnswer, SchemaTask } from "./Protocol.ts"
import { checkText, problemOf } from "./Validation.ts"

// The process that checks the schemas of clients, one task after the other. The service kills it when a task
// takes too long. It does not use Effect, because loading Effect would take longer than most tasks.

removeGlobals()
denyModules()

/** The longest task, above the timeout of the service. It ends the process if the service was killed. */
const taskMillisMax = 5_000

const answerTo = ({ id, isGrammar, schema, text }: SchemaTask): SchemaAnswer => {
  if (text === null) return { id, problem: problemOf(schema), mismatch: null }
  const check = isGrammar === true ? grammarMismatch : checkText
  return { id, problem: null, mismatch: check(schema, text) }
}

const current: { task: SchemaTask | null } = { task: null }
const bounded = new Script("parleyTask()")
Object.assign(globalThis, { parleyTask: () => current.task && answerTo(current.task) })

const send = (answer: SchemaAnswer) => process.send?.(answer)

process.on("message", (task: SchemaTask) => {
  current.task = task
  send(bounded.runInThisContext({ timeout: taskMillisMax }) as SchemaAnswer)
})
process.on("disconnect", () => process.exit())
// Compiles the schemas of schemas, so that the first task takes no longer than any other.
for (const $schema of ["2020-12", "2019-09", "draft-07"]) problemOf(JSON.stringify({ $schema }))
send({ id: null, problem: null, mismatch: null })
