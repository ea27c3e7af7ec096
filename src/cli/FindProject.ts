import { Effect, Schema } from "effect"
import { ProjectId } from "../domain/Ids.ts"
import { ProjectName } from "../domain/Project.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CliFailure.ts"
import { printable } from "./Output.ts"

/** Projects of one name that a message lists. */
const namedMax = 10

/** The project that a command line names, by its id or by its name. */
export const findProject = Effect.fnUntraced(function* (text: string) {
  if (Schema.is(ProjectId)(text)) return { id: ProjectId.make(text), name: text }
  const nobody = new CliFailure({ message: `There is no project ${printable(text)}.` })
  if (!Schema.is(ProjectName)(text)) return yield* nobody
  const { data } = yield* askServer((client) => client.projects.list({ query: { name: text } }))
  const [found, ...others] = data
  if (found === undefined) return yield* nobody
  if (others.length === 0) return { id: found.id, name: found.name }
  const ids = data.slice(0, namedMax).map(({ id, organization }) => `${id} (${printable(organization)})`)
  return yield* new CliFailure({
    message: `${data.length} projects have the name ${printable(text)}; name yours by its id: ${ids.join(", ")}.`
  })
})
