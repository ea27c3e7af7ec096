import { Duration, Effect, Schema, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import {
  type AuditEntryBody,
  auditFormats,
  auditPageDefault,
  auditPageMax,
  auditTextCharactersMax,
  AuditTime,
  expectedAuditTime
} from "../admin/AuditApi.ts"
import { type AuditDetails, auditActions, AuditAction, AuditTarget } from "../domain/AuditEntry.ts"
import { AuditEntryId } from "../domain/Ids.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { askServer, tooLong } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given, group, isClosedPipe, json } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"

/** Seconds for which an export may make no progress. */
const stallSeconds = 60

const textFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(
      (text) => text !== "" && text.length <= auditTextCharactersMax,
      Parameter.must(`1 to ${auditTextCharactersMax} characters`)
    ),
    Flag.withDescription(description),
    Flag.optional
  )

const timeFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(Schema.is(AuditTime), Parameter.must(expectedAuditTime)),
    Flag.withDescription(description),
    Flag.optional
  )

const filterFlags = {
  actor: textFlag(
    "actor",
    "Only what this user did, by e-mail address; or operator, operator:NAME of an admin key, or system"
  ),
  action: Flag.Literals("action", AuditAction.literals).pipe(
    Flag.withDescription("Only this action, such as api_key.revoke; see docs/audit.md"),
    Flag.optional
  ),
  targetType: Flag.Literals("target-type", AuditTarget.literals).pipe(
    Flag.withDescription("Only what was done to such things"),
    Flag.optional
  ),
  targetId: textFlag("target-id", "Only what was done to the one with this id"),
  organization: Flag.optional(Parameter.nameFlag("org", "Only entries about this organization")),
  since: timeFlag("since", "The first day (UTC) or time"),
  until: timeFlag("until", "The last day (UTC), which is included, or the first time that isn't")
}

const filterQuery = ({
  action,
  actor,
  organization,
  since,
  targetId,
  targetType,
  until
}: Command.Command.Config.InferValue<typeof filterFlags>) =>
  given({ action, actor, organization, since, until, target_id: targetId, target_type: targetType })

const valueText = (value: AuditDetails[string]): string =>
  typeof value === "object" && value !== null
    ? `${value.old ?? "-"} → ${value.new ?? "-"}`
    : String(value ?? "-")

const detailsText = (details: AuditDetails): string =>
  Object.entries(details)
    .map(([name, value]) => `${name}: ${valueText(value)}`)
    .join(", ")

const columns: Readonly<Record<string, (entry: AuditEntryBody) => string>> = {
  TIME: ({ at }) => shortTime(at),
  ACTOR: ({ actor, actor_email, actor_name }) =>
    actor_email ?? (actor_name === null ? actor : `${actor}:${actor_name}`),
  FROM: ({ address, origin }) => (address === null ? origin : `${origin} ${address}`),
  ACTION: ({ action }) => action,
  TARGET: ({ target_name }) => target_name,
  ORGANIZATION: ({ organization }) => organization ?? "-",
  DETAILS: ({ details }) => detailsText(details)
}

const listEntries = command(
  "list",
  "List entries of the audit log, newest first",
  {
    ...filterFlags,
    limit: Parameter.countFlag("limit", { from: 1, to: auditPageMax }, "Entries to list").pipe(
      Flag.withDefault(auditPageDefault)
    ),
    after: Flag.String("after").pipe(
      Flag.filterMap(Schema.decodeOption(AuditEntryId), Parameter.must("the id of an entry")),
      Flag.withDescription("Go on after the entry with this id"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ after, limit, ...filter }) {
    const query = { ...filterQuery(filter), ...given({ after }), limit }
    const { data, has_more } = yield* askServer((client) => client.audit.list({ query }))
    const { text } = listed(data, columns, "No entry matches.")
    const last = data.at(-1)
    const more = has_more && last !== undefined ? ["", `There are older entries: --after ${last.id}`] : []
    return { value: { data, has_more }, text: [text, ...more] }
  })
).pipe(Command.withExamples([{ command: "parley audit list --actor ada@example.com --since 2026-02-01" }]))

const listActions = command("actions", "List the actions that are recorded", {}, () =>
  Effect.succeed(
    listed(
      Object.entries(auditActions).map(([action, { description, target }]) => ({
        action,
        target,
        description
      })),
      {
        ACTION: ({ action }) => action,
        "TARGET TYPE": ({ target }) => target,
        MEANING: ({ description }) => description
      }
    )
  )
).pipe(Command.withExamples([{ command: "parley audit actions" }]))

const brokenOff = new CliFailure({
  message: "The export broke off: what was written is not complete. Try again."
})

/** Writes as it receives, so that an export of any length needs little memory. */
const exportEntries = Command.make(
  "export",
  {
    ...filterFlags,
    format: Flag.Literals("format", auditFormats).pipe(
      Flag.withDescription("A table with a heading, or a JSON document in each line"),
      Flag.withDefault("csv" as const)
    ),
    json
  },
  Effect.fnUntraced(function* ({ format, json, ...filter }) {
    const stdio = yield* Stdio.Stdio
    const query = { ...filterQuery(filter), format: json ? ("jsonl" as const) : format }
    const bytes = yield* askServer((client) => client.audit.export({ query }))
    yield* bytes.pipe(
      Stream.mapError(() => brokenOff),
      Stream.timeoutOrElse({
        duration: Duration.seconds(stallSeconds),
        orElse: () => Stream.fromEffect(tooLong("sent nothing for", stallSeconds))
      }),
      Stream.run(stdio.stdout()),
      Effect.catchTag("PlatformError", ({ reason }) =>
        isClosedPipe(reason.cause)
          ? Effect.void
          : Effect.fail(
              new CliFailure({ message: `The standard output can't be written: ${failureReason(reason)}.` })
            )
      )
    )
  })
).pipe(
  Command.withDescription(
    "Write all entries that match to the standard output, oldest first; with --json, a JSON document in each line"
  ),
  Command.withExamples([{ command: "parley audit export --since 2026-02-01 --until 2026-02-28" }])
)

export const auditCommand = group("audit", "Who did what", [listEntries, exportEntries, listActions])
