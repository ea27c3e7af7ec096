import { Array as Arr, Clock, Effect } from "effect"
import { Conversations } from "../conversations/Conversations.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import type { Caller } from "../domain/Account.ts"
import type { ConversationState, InputItem } from "../domain/Conversation.ts"
import { InvalidRequest, ProjectNotFound } from "../domain/Errors.ts"
import type { ConversationId, UserId, ProjectId } from "../domain/Ids.ts"
import { type Operation, operationNames } from "../domain/Plan.ts"
import type { Denial, Permissions } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { Attempts } from "./Attempts.ts"
import { inputChecks } from "./generation/InputCheck.ts"
import { makeOffers } from "./Offers.ts"
import { AttachedFiles } from "./prompt/AttachedFiles.ts"
import { answeredCalls } from "./prompt/FunctionItems.ts"
import {
  type GivenItem,
  type IncomingInput,
  notInHistory,
  readInput,
  resolveReferences
} from "./prompt/IncomingInput.ts"
import { ProjectKnowledge } from "./prompt/ProjectKnowledge.ts"
import { filesOf } from "./prompt/PromptMessages.ts"
import { nameLongDocument, RequestMedia } from "./prompt/RequestMedia.ts"
import { nextItemId, type Demands, type ResponseRequest } from "./prompt/ResponseRequest.ts"
import { cacheScopeOf, instructionsOf, keptInstructions, RequestTurn } from "./RequestTurn.ts"

/** The steps up to the first call of a model, and the conditions that a request must meet. */

const isEmpty = (item: InputItem): boolean =>
  item.type === "reasoning" ||
  (item.type === "message" && item.content.every((part) => "text" in part && part.text === ""))

/**
 * Fails without a user message, unless results of the client's functions are answered. Source: specification
 * of `/v1`.
 */
const demandQuestion = ({ entries, results }: IncomingInput): Effect.Effect<void, InvalidRequest> =>
  results.length > 0 ||
  entries.some(
    (entry) =>
      entry.kind === "item" &&
      entry.item.type === "message" &&
      entry.item.role === "user" &&
      !isEmpty(entry.item)
  )
    ? Effect.void
    : Effect.fail(new InvalidRequest({ param: "input", message: "`input` holds no message of the user." }))

/** Fails if a model would get nothing at all: no instructions, no earlier turn, and no item with content. */
const demandContent = (
  { systemMessage, turnCount }: ConversationState,
  instructions: ReadonlyArray<string | null>,
  items: ReadonlyArray<InputItem>
): Effect.Effect<void, InvalidRequest> =>
  turnCount > 0 || [systemMessage, ...instructions].some((text) => !!text) || !items.every(isEmpty)
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          param: "input",
          message: "`input` has no content, and there are no instructions. Send a message that is not empty."
        })
      )

/** The fields of a request that ask for a search of files. */
type Asking = Pick<ResponseRequest, "project_id">

/** The field by which a request asks for a search of files; null if it asks for none. */
const searchParam = ({ project_id }: Asking, { fileSearch }: Demands): string | null =>
  fileSearch?.projects[0]?.param ?? (project_id == null ? null : "project_id")

/** Proofs that the user may read the projects that a request searches. */
const makeSearchedProjects = Effect.map(Policy, (policy) => {
  /** Clients of vector stores get the same error for a missing project and for one that they can't read. */
  const readable = (userId: UserId, id: ProjectId, param: string) =>
    policy
      .project(userId, id, param)
      .pipe(Effect.catchTag("NotProjectMember", () => new ProjectNotFound({ param })))

  return Effect.fnUntraced(function* (userId: UserId, { project_id }: Asking, { fileSearch }: Demands) {
    if (fileSearch !== undefined)
      return yield* Effect.forEach(fileSearch.projects, ({ id, param }) => readable(userId, id, param))
    return project_id == null ? [] : [yield* policy.project(userId, project_id)]
  })
})

/**
 * Everything that precedes the first call of a model: input, files, conversation, permissions, models and
 * prompts.
 */
export const makePreparation = Effect.gen(function* () {
  const attachedFiles = yield* AttachedFiles
  const attempts = yield* Attempts
  const conversations = yield* Conversations
  const knowledge = yield* ProjectKnowledge
  const media = yield* RequestMedia
  const policy = yield* Policy
  const requestTurn = yield* RequestTurn
  const schemas = yield* JsonSchemas
  const searchedProjects = yield* makeSearchedProjects
  const toolkit = yield* Toolkit
  const offerOf = makeOffers(toolkit.offered)

  const referredTo = (userId: UserId, { entries }: IncomingInput) =>
    resolveReferences(entries, (ids) => conversations.items(userId, ids), nextItemId)

  /** The items that the history lacks, and the earlier calls that the request's results answer. */
  const itemsAfter = Effect.fnUntraced(function* (
    turn: ConversationState,
    given: ReadonlyArray<GivenItem>,
    { results }: IncomingInput
  ) {
    const items = yield* notInHistory(given, (ids) => conversations.knownItems(turn, ids))
    const calls = yield* answeredCalls(results, items, (ids) => conversations.functionCalls(turn, ids))
    return { items, calls }
  })

  return Effect.fnUntraced(function* (request: ResponseRequest, demands: Demands, caller: Caller) {
    const { userId } = caller
    const { images, input: readable, longDocument } = yield* media.read(request.input, caller)
    const input = yield* readInput(readable, nextItemId, demands.functionItems)
    if (demands.questionless !== true) yield* demandQuestion(input)

    const permissions = yield* policy.permissions(caller.plan)
    yield* demand(permissions, paramsOf(request, input, demands))
    const { rules, ...offered } = yield* offerOf(demands, permissions.tools)
    const inputs = yield* inputChecks(demands.functions ?? [], schemas, userId)
    const offer = { ...offered, rules: { ...rules, inputs } }
    const format = demands.answer?.format
    if (format !== undefined) yield* schemas.prepare(userId, format)
    const memberships = yield* searchedProjects(userId, request, demands)

    const given = yield* referredTo(userId, input)
    // References are resolved only now, so that files they bring can be checked. A missing item or project is
    // reported first.
    yield* demand(permissions, { files: paramOfFile(given) })
    const files = yield* attachedFiles.find(userId, input.files, given)
    const opened = yield* requestTurn.open(request, userId, demands)
    const { turn } = opened
    const { calls, items } = yield* itemsAfter(turn, given, input)
    const onOutput = yield* answering(opened.conversationId)

    const asked = instructionsFor(request, turn, input, demands)
    const { directions, systemMessage } = asked
    yield* demandContent(turn, [systemMessage, ...directions], items)
    const parts = { systemMessage, directions, items, calls, tools: offer.tools }
    const found = Arr.isReadonlyArrayNonEmpty(memberships)
      ? yield* knowledge.search(memberships, turn, items, demands.fileSearch)
      : null
    const prepared = yield* attempts
      .prepare({
        userId,
        parts,
        files,
        images,
        search: found === null ? null : { id: nextItemId(), knowledge: found },
        turn,
        maxOutputTokens: request.max_output_tokens ?? null,
        permissions,
        demands,
        cacheScope: cacheScopeOf(request, demands, userId, turn, [systemMessage, ...directions]),
        mustCall: offer.mustCall
      })
      .pipe(nameLongDocument(longDocument))
    return { asked, offer, onOutput, opened, parts, prepared }
  })
})

/** Fails if the plan or the license lacks an operation. `params` names the field that asks for each. */
const demand = (
  { operation }: Permissions,
  params: Readonly<Partial<Record<Operation, string | null | undefined>>>
): Effect.Effect<void, Denial> => {
  const denials = operationNames.map((name) => (params[name] == null ? null : operation(name, params[name])))
  const denial = denials.find((one) => one !== null)
  return denial === undefined ? Effect.void : Effect.fail(denial)
}

/** The fields by which a request asks for operations. */
const paramsOf = (request: ResponseRequest, { files }: IncomingInput, demands: Demands) => ({
  responses: "",
  projects: searchParam(request, demands),
  files: files[0]?.param
})

/** The first reference to an item with a file. */
const paramOfFile = (given: ReadonlyArray<GivenItem>): string | undefined =>
  given.find(({ item, reference }) => reference !== null && filesOf([item]).length > 0)?.reference?.param

/** Adds the answered conversation to the log. Run the result at the first output. */
const answering = (conversationId: ConversationId) =>
  Effect.map(CurrentAccess, (access) => {
    if (access === null) return Effect.void
    access.conversationId = conversationId
    return Effect.map(Clock.monotonicTimeNanos, (now) => {
      access.firstOutputNanos = now
    })
  })

/**
 * The system message that the conversation keeps, and that of this response. The instructions of a request
 * replace the kept ones for its response. Only a new conversation without a system message keeps them.
 */
const instructionsFor = (
  request: ResponseRequest,
  turn: ConversationState,
  input: IncomingInput,
  demands: Demands
) => {
  const instructions = instructionsOf(request)
  const isNew = turn.turnCount === 0
  // spec: CreateResponseRequest, rules 2 and 3
  const kept = turn.systemMessage ?? (isNew ? keptInstructions(request, demands) : null)
  const systemMessage = instructions ?? kept
  return {
    instructions,
    kept,
    systemMessage,
    directions: input.directions.filter((direction) => direction !== systemMessage)
  }
}
