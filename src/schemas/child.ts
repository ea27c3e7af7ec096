import { Script } from "node:vm"
import { removeGlobals } from "../confinement/removeGlobals.ts"
import { denyModules } from "./GeneratedCode.ts"
import { grammarMismatch, readingOf } from "./Grammars.ts"
import type { SchemaAnswer, SchemaTask } from "./Protocol.ts"
import { checkText, problemOf } from "./Validation.ts"

// The process that checks the schemas of clients, one task after the other. The service kills it when a task
// takes too long. It does not use Effect, because loading Effect would take longer than most tasks.

removeGlobals()
denyModules()

/** The longest task, above the timeout of the service. It ends the process if the service was killed. */
const taskMillisMax = 5_000

const grammarAnswer = ({ id, schema, text }: SchemaTask): SchemaAnswer => {
  if (text !== null) return { id, problem: null, mismatch: grammarMismatch(schema, text) }
  const reading = readingOf(schema)
  const problem = reading.is === "broken" ? reading.problem : null
  return { id, problem, isUnsupported: reading.is === "unsupported", mismatch: null }
}

const answerTo = (task: SchemaTask): SchemaAnswer => {
  if (task.isGrammar === true) return grammarAnswer(task)
  const { id, schema, text } = task
  return text === null
    ? { id, problem: problemOf(schema), mismatch: null }
    : { id, problem: null, mismatch: checkText(schema, text) }
}

const current: { task: SchemaTask | null } = { task: null }
const bounded = new Script("parleyTask()")
Object.assign(globalThis, { parleyTask: () => current.task && answerTo(current.task) })

const send = (answer: SchemaAnswer) => process.send?.(answer)

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

const answerInTime = ({ id, isGrammar, millisMax = taskMillisMax }: SchemaTask): SchemaAnswer => {
  try {
    return bounded.runInThisContext({ timeout: millisMax }) as SchemaAnswer
  } catch (error) {
    if (isGrammar !== true || !isTimeout(error)) throw error
    return { id, problem: null, isUnsupported: true, mismatch: null }
  }
}

process.on("message", (task: SchemaTask) => {
  current.task = task
  send(answerInTime(task))
})
process.on("disconnect", () => process.exit())
// Compiles the schemas of schemas, so that the first task takes no longer than any other.
for (const $schema of ["2020-12", "2019-09", "draft-07"]) problemOf(JSON.stringify({ $schema }))
send({ id: null, problem: null, mismatch: null })
