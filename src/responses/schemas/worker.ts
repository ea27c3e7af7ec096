import { parentPort } from "node:worker_threads"
import type { SchemaAnswer, SchemaTask } from "./Protocol.ts"
import { checkText, problemOf } from "./Validation.ts"

/** The program of the thread: one task after the other. The service ends the thread when a task takes too long. */

const answerTo = ({ id, schema, text }: SchemaTask): SchemaAnswer =>
  text === null
    ? { id, problem: problemOf(schema), mismatch: null }
    : { id, problem: null, mismatch: checkText(schema, text) }

const port = parentPort
port?.on("message", (task: SchemaTask) => port.postMessage(answerTo(task)))
// Compiles the schemas of schemas, so that the first task takes no longer than any other.
for (const schema of ["{}", '{"$schema":"http://json-schema.org/draft-07/schema#"}']) problemOf(schema)
port?.postMessage({ id: null, problem: null, mismatch: null } satisfies SchemaAnswer)
