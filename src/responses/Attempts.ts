import { Array as Arr, Context, Effect, Layer, Order } from "effect"
import { Conversations } from "../conversations/Conversations.ts"
import type { ConversationState, InputItem, StoredImage, StoredTurn } from "../domain/Conversation.ts"
import {
  type DatabaseUnavailable,
  InvalidRequest,
  type ModelNotFound,
  type NoModelAvailable,
  type NoVisionModel,
  PromptTooLong
} from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import type { ModelRequest, AnswerOptions } from "../domain/ModelCall.ts"
import type { Denial, Permissions } from "../plans/Permissions.ts"
import type { Need } from "../routing/Candidates.ts"
import { type Asked, difficultyOf } from "../routing/Difficulty.ts"
import { type Candidate, Router } from "../routing/Router.ts"
import type { Attempt } from "./generation/Attempt.ts"
import {
  AttachedFiles,
  type UnreadFiles,
  historyFilesTokensMax,
  type PromptFiles,
  unreadFiles
} from "./prompt/AttachedFiles.ts"
import { passagesMessage, passagesWithin, type Search } from "./prompt/Citations.ts"
import {
  findImages,
  historyImagesBytesMax,
  imagesById,
  newestImages,
  type PromptImages
} from "./prompt/Images.ts"
import { textOf } from "./prompt/IncomingInput.ts"
import {
  historyWithin,
  withResultsWithin,
  longInput,
  type Assembly,
  filesShown,
  makeAssembly,
  type Prompt,
  type PromptModel,
  type PromptParts,
  promptTokensMax
} from "./prompt/PromptAssembly.ts"
import { filesOf, questionStart } from "./prompt/PromptMessages.ts"
import type { Demands } from "./prompt/ResponseRequest.ts"

/** The candidates that can call functions. */
const thatCall = (
  candidates: Arr.NonEmptyReadonlyArray<Candidate>
): Effect.Effect<Arr.NonEmptyReadonlyArray<Candidate>, InvalidRequest> => {
  const calling = candidates.filter(({ model }) => model.tools)
  return Arr.isReadonlyArrayNonEmpty(calling)
    ? Effect.succeed(calling)
    : Effect.fail(
        new InvalidRequest({
          param: "tools",
          message:
            "`tools` needs a model that can call functions, and none that may answer can. Leave it out."
        })
      )
}

/**
 * The candidates whose servers have a field for each option. Fails with the unsupported option if there are
 * none.
 */
const supportingOptions = (
  candidates: Arr.NonEmptyReadonlyArray<Candidate>,
  options: AnswerOptions
): Effect.Effect<Arr.NonEmptyReadonlyArray<Candidate>, InvalidRequest> => {
  const lackedBy = ({ lacks }: Candidate) => lacks?.(options) ?? null
  const honoring = candidates.filter((candidate) => lackedBy(candidate) === null)
  if (Arr.isReadonlyArrayNonEmpty(honoring)) return Effect.succeed(honoring)
  const param = lackedBy(candidates[0]) ?? ""
  const reason =
    param === "temperature"
      ? "is higher than the models that may answer take"
      : "is nothing that the models that may answer take"
  return Effect.fail(
    new InvalidRequest({ param, message: `\`${param}\` ${reason}. Leave it out, or name another \`model\`.` })
  )
}

/** The candidates whose windows have room for a prompt with passages. */
const withRoom = (candidates: Arr.NonEmptyReadonlyArray<Candidate>, promptTokens: number) => {
  const fitting = candidates.flatMap((candidate): ReadonlyArray<Candidate> => {
    const room = candidate.model.contextWindow - promptTokens
    return room < 1 ? [] : [{ ...candidate, maxOutputTokens: Math.min(candidate.maxOutputTokens, room) }]
  })
  return Arr.isReadonlyArrayNonEmpty(fitting)
    ? Effect.succeed(fitting)
    : Effect.fail(tooLong(promptTokens, candidates))
}

const tooLong = (promptTokens: number, candidates: ReadonlyArray<Candidate>): PromptTooLong => {
  const windows = candidates.map(({ model }) => model.contextWindow)
  return new PromptTooLong({ promptTokens, tokensMax: Math.max(...windows) - 1 })
}

/** The attempts whose prompt has all earlier turns. */
const withAllTurns = (
  attempts: Arr.NonEmptyReadonlyArray<Attempt>,
  { turnCount }: ConversationState,
  history: ReadonlyArray<StoredTurn>
) => {
  const whole = attempts.flatMap((attempt): ReadonlyArray<Attempt> => {
    if (attempt.droppedTurns > 0 || history.length < turnCount) return []
    const shorter: Attempt["shorter"] = (contextTokens) => {
      const less = attempt.shorter(contextTokens)
      return less === null || less.droppedTurns > 0 ? null : less
    }
    return [{ ...attempt, shorter }]
  })
  const tokensMax = Math.max(...attempts.map(({ model }) => model.contextWindow)) - 1
  return Arr.isReadonlyArrayNonEmpty(whole)
    ? Effect.succeed(whole)
    : Effect.fail(new PromptTooLong({ promptTokens: tokensMax + 1, tokensMax, ofHistory: true }))
}

export type { Attempt } from "./generation/Attempt.ts"

/** At most this share of the best model's window goes to passages of a project's files. */
const passagesShareMax = 0.25

/**
 * The shares to send of a prompt that a server found too long, and of the context size that it stated. The
 * server counts tokens differently.
 */
const tooLongShare = 0.5
const statedShare = 0.75

/** The attempts to answer, and the content of their prompts. */
interface PreparedAttempts {
  /** Best first. */
  readonly attempts: Arr.NonEmptyReadonlyArray<Attempt>
  readonly search: Search | null
  /** The earlier turns that were read for the prompts. */
  readonly history: ReadonlyArray<StoredTurn>
  /** The files of the turn, as far as their texts were read. */
  readonly files: PromptFiles
  /** The images that the items of the turn refer to. */
  readonly images: PromptImages
  /** The items of the turn as the prompts show them. */
  readonly items: ReadonlyArray<InputItem>
}

/** The parts of a request from which its prompts are made. */
interface AttemptsRequest {
  readonly userId: UserId
  readonly parts: Omit<PromptParts, "history" | "files" | "knowledge">
  /** The files that the items of the turn refer to. */
  readonly files: UnreadFiles
  /** The images that the request brings along. */
  readonly images: ReadonlyArray<StoredImage>
  readonly search: Search | null
  readonly turn: ConversationState
  readonly maxOutputTokens: number | null
  readonly permissions: Permissions
  readonly demands: Demands
  readonly cacheScope: string
  /** True if only models that can call tools may answer. */
  readonly mustCall: boolean
}

/** Chooses the models that may answer, and makes a prompt for each. */
export class Attempts extends Context.Service<
  Attempts,
  {
    readonly prepare: (
      request: AttemptsRequest
    ) => Effect.Effect<
      PreparedAttempts,
      | NoModelAvailable
      | ModelNotFound
      | NoVisionModel
      | PromptTooLong
      | InvalidRequest
      | Denial
      | DatabaseUnavailable
    >
  }
>()("parley/responses/Attempts") {
  static readonly layer = Layer.effect(
    Attempts,
    Effect.gen(function* () {
      const router = yield* Router
      const conversations = yield* Conversations
      const attachedFiles = yield* AttachedFiles

      const route = (need: Need, { licensedModel, model, noModel }: Permissions) =>
        Effect.catchTag(
          router.route(need, ({ id }) => model(id)),
          "ModelForbidden",
          // The license is named as the reason if it permits none of the matching models.
          ({ models }) => Effect.fail(noModel(models.some(licensedModel)))
        )

      /** The largest window of the models that may answer. If there are none, the router gives the reason. */
      const largestWindow = Effect.fnUntraced(function* ({ model }: Permissions) {
        const permitted = (yield* router.models).filter(({ id }) => model(id))
        const windows = permitted.map(({ contextWindow }) => contextWindow)
        return windows.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...windows)
      })

      const prepare: Attempts["Service"]["prepare"] = Effect.fnUntraced(function* (request) {
        const { cacheScope, demands, maxOutputTokens, permissions, turn, userId } = request
        const windowMax = yield* largestWindow(permissions)
        const items = withResultsWithin(request.parts.items, windowMax)
        const images = yield* findImages(conversations, userId, items, request.images)
        const bareParts = { ...request.parts, items, images, history: [], knowledge: null }
        const parts = { ...bareParts, files: unreadFiles(request.files) }
        // Refuses long texts before they are counted in full.
        const problem = longInput(parts, windowMax)
        if (problem !== null) return yield* problem
        const bare = makeAssembly(parts)
        const asked = askedBy(parts, bare.leastTokens, request.search)
        const need: Need = {
          promptTokens: asked.promptTokens,
          tools: asked.tools,
          maxOutputTokens,
          ...(images.size === 0 ? {} : { vision: true }),
          ...(demands.model === undefined ? {} : { model: demands.model }),
          difficulty: difficultyOf(asked).score
        }
        const routed = yield* route(need, permissions).pipe(
          Effect.flatMap((all) => supportingOptions(all, demands.answer ?? {})),
          Effect.flatMap((all) => (request.mustCall ? thatCall(all) : Effect.succeed(all)))
        )
        const search = request.search && withinWindow(request.search, routed[0].model.contextWindow)
        const unread = search === null ? parts : { ...parts, knowledge: messageOf(search) }
        const least = search === null ? bare : makeAssembly(unread)
        const candidates = search === null ? routed : yield* withRoom(routed, least.leastTokens)
        // Texts are read once it is known how much of them fits into the window of any model.
        const files = yield* attachedFiles.read(userId, request.files, most(candidates, least.fileTokensMax))
        const read = { ...unread, files }
        // An unchanged prompt is not counted again.
        const current = request.files.size === 0 ? least : makeAssembly(read)
        const { historyTokensMax } = current
        const stored =
          turn.turnCount === 0 ? [] : yield* conversations.history(turn, most(candidates, historyTokensMax))
        const history = historyWithin(stored, windowMax)
        const earlier = filesShown(history, read.items)
        const earlierTokensMax = most(candidates, (model, answerTokens) =>
          historyFilesTokensMax(
            model.contextWindow,
            earlier.flat().length,
            historyTokensMax(model, answerTokens)
          )
        )
        const earlierFiles = yield* attachedFiles.readEarlier(userId, earlier, earlierTokensMax)
        const shown = newestImages(history, most(candidates, historyTokensMax))
        const earlierImages =
          shown.length === 0 ? [] : yield* conversations.images(userId, shown, historyImagesBytesMax)
        const all = {
          ...read,
          history,
          files: new Map([...files, ...earlierFiles]),
          images: new Map([...imagesById(earlierImages), ...images])
        }
        const assembly = history.length === 0 ? current : makeAssembly(all)
        const common = { options: demands.answer ?? {}, cacheScope }
        const attempts = yield* attemptsOf(candidates, userId, { parts: all, assembly, search, common })
        const usable = demands.wholeHistory === true ? yield* withAllTurns(attempts, turn, history) : attempts
        // A model that can read the whole conversation precedes a better model that can't. The sort is
        // stable.
        const order = earlierImages.length === 0 ? fewestDropped : Order.combine(fewestDropped, seeingFirst)
        return { attempts: Arr.sort(usable, order), search, history, files, images, items }
      })

      return Attempts.of({ prepare })
    })
  )
}

/** The fields that the requests to all models have in common. */
type CommonFields = Pick<ModelRequest, "options" | "cacheScope">

/** The most room that any of the candidates has. */
const most = (
  candidates: ReadonlyArray<Candidate>,
  room: (model: PromptModel, answerTokens: number) => number
): number => Math.max(...candidates.map(({ maxOutputTokens, model }) => room(model, maxOutputTokens)))

/** Makes one prompt after the other, so that streams continue in between. */
const attemptsOf = Effect.fnUntraced(function* (
  candidates: Arr.NonEmptyReadonlyArray<Candidate>,
  userId: UserId,
  {
    assembly,
    common,
    parts,
    search
  }: {
    readonly parts: PromptParts
    readonly assembly: Assembly
    readonly search: Search | null
    readonly common: CommonFields
  }
) {
  const attempts: Array<Attempt> = []
  for (const [index, candidate] of candidates.entries()) {
    if (index > 0) yield* Effect.yieldNow
    const prompt = assembly.assemble(candidate.model, candidate.maxOutputTokens)
    const tokensMax = promptTokensMax(candidate.model, candidate.maxOutputTokens)
    if (prompt.promptTokens <= tokensMax)
      attempts.push(attemptOf(candidate, userId, parts, search, common, prompt))
    else {
      yield* Effect.logError("A prompt was assembled that is too long, and is not sent.").pipe(
        Effect.annotateLogs({ model: candidate.model.id, promptTokens: prompt.promptTokens, tokensMax })
      )
    }
  }
  return Arr.isArrayNonEmpty(attempts) ? attempts : yield* tooLong(assembly.leastTokens, candidates)
})

/** If earlier turns have images, models that see images precede others. */
const seeingFirst = Order.mapInput(Order.Number, ({ model }: Attempt) => (model.vision === true ? 0 : 1))

const fewestDropped = Order.mapInput(Order.Number, ({ droppedTurns }: Attempt) => droppedTurns)

const askedBy = ({ items, tools }: PromptParts, promptTokens: number, search: Search | null): Asked => {
  const question = items.slice(questionStart(items))
  return {
    text: textOf(question.flatMap((item) => (item.type === "message" ? item.content : []))),
    promptTokens,
    files: filesOf(items).length,
    passages: search === null ? 0 : search.knowledge.passages.length,
    tools: tools.specs.length > 0
  }
}

const messageOf = ({ id, knowledge }: Search) => passagesMessage(knowledge, id)

const withinWindow = (search: Search, contextWindow: number): Search => ({
  ...search,
  knowledge: passagesWithin(search.knowledge, Math.floor(contextWindow * passagesShareMax))
})

/** The request for a candidate: the prompt for its window, and the room that is left for the answer. */
const attemptOf = (
  candidate: Candidate,
  user: UserId,
  parts: PromptParts,
  search: Search | null,
  common: CommonFields,
  { droppedTurns, messages, promptTokens }: Prompt,
  contextWindow = candidate.model.contextWindow
): Attempt => {
  const { model } = candidate
  // The estimate may be slightly too high, and a model refuses a bound below 1.
  const maxOutputTokens = Math.max(1, Math.min(candidate.maxOutputTokens, contextWindow - promptTokens))
  return {
    model,
    promptTokens,
    isLimited: false,
    droppedTurns,
    coolingDown: candidate.reasons.coolingDown,
    request: {
      messages,
      maxOutputTokens,
      tools: model.tools ? parts.tools.specs : [],
      ...common,
      ...(search === null ? {} : { passages: search.knowledge.passages })
    },
    stream: (request, options) => candidate.stream(request, { ...options, user }),
    shorter: (contextTokens) => {
      const stated = (contextTokens ?? contextWindow) * statedShare
      const window = Math.floor(Math.min(stated, (promptTokens + maxOutputTokens) * tooLongShare))
      const fewer = search === null ? null : withinWindow(search, window)
      const items = withResultsWithin(parts.items, window)
      const shortened = { ...parts, items, knowledge: fewer === null ? null : messageOf(fewer) }
      const smaller = { ...model, contextWindow: window }
      const prompt = makeAssembly(shortened).assemble(smaller, candidate.maxOutputTokens)
      return prompt.promptTokens > promptTokensMax(smaller, candidate.maxOutputTokens)
        ? null
        : attemptOf(candidate, user, shortened, fewer, common, prompt, window)
    }
  }
}
