import { makeZip } from "client-zip"
import { Context, DateTime, Effect, Layer, Option, Record, Stream, String, Struct } from "effect"
import { Audit, type AuditFilter } from "../audit/Audit.ts"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { Accounts } from "../auth/Accounts.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { Identities } from "../auth/Identities.ts"
import { Sessions } from "../auth/Sessions.ts"
import { Conversations, type OwnedConversation } from "../conversations/Conversations.ts"
import { imagesPageRows, type OwnedImage } from "../conversations/ImageTable.ts"
import { jobsPageRows, type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import type { Page, User } from "../domain/Account.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import type { DatabaseUnavailable, UserNotFound } from "../domain/Errors.ts"
import type { ApiKeyId, UserId } from "../domain/Ids.ts"
import type { StoredFile } from "../domain/StoredFile.ts"
import { FileStore } from "../files/FileStore.ts"
import { Projects } from "../projects/Projects.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { Usage } from "../usage/Usage.ts"
import type { UsageRecord } from "../usage/UsageErasure.ts"

/** Files that one statement lists. */
const filesPageRows = 100

/** Larger than any image. */
const imagesBytesMax = 67_108_864

const fileFields = [
  "id",
  "filename",
  "purpose",
  "bytes",
  "status",
  "statusDetails",
  "createdAt",
  "expiresAt"
] as const

interface ExportedUser {
  readonly user: User
  readonly archive: Stream.Stream<Uint8Array, Error>
}

/** Exports the stored data of a user. */
export class UserExport extends Context.Service<
  UserExport,
  {
    /**
     * A ZIP archive with JSON and the user's files, read while it is written: changes meanwhile may be in it
     * or not. The audit log has that it was asked for.
     */
    readonly export: (email: string) => Effect.Effect<ExportedUser, UserNotFound | DatabaseUnavailable>
  }
>()("parley/erasure/UserExport") {
  static readonly layer = Layer.effect(
    UserExport,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const audit = yield* makeAuditRecorder
      const entriesOf = yield* makeEntries

      const exportUser = Effect.fn("UserExport.export")(function* (email: string) {
        const user = yield* accounts.findUserByEmail(email)
        const entries = yield* entriesOf(user)
        yield* orUnavailable(audit.record({ action: "user.export", ...aboutUser(user) }))
        return { user, archive: zipArchive(entries) }
      })
      return UserExport.of({ export: exportUser })
    })
  )
}

const encoder = new TextEncoder()

/** Uses the names of the interface. The values stay as they are stored. */
const renamed = (value: object) => Record.mapKeys({ ...value }, String.camelToSnake)

const line = (value: object): string => `${JSON.stringify(renamed(value))}\n`

const lines = <A extends object, E>(values: Stream.Stream<A, E>): Stream.Stream<Uint8Array, E> =>
  Stream.encodeText(Stream.map(values, line))

/** All items of a list that comes in pages. */
const paged = <A, Id, E>(
  page: (after: Id | undefined) => Effect.Effect<Page<A>, E>,
  idOf: (item: A) => Id
): Stream.Stream<A, E> =>
  Stream.paginate(undefined, (after: Id | undefined) =>
    Effect.map(page(after), ({ data, hasMore }) => {
      const last = hasMore ? data.at(-1) : undefined
      return [data, Option.map(Option.fromUndefinedOr(last), idOf)] as const
    })
  )

/** No part of a path: a slash, or a name that is a directory. */
const entryName = ({ filename, id }: StoredFile): string =>
  `files/${id}/${filename.replaceAll(/[/\\:]/g, "_").replace(/^\.+$/, "_")}`

/** The files of the archive of a user. */
const makeEntries = Effect.gen(function* () {
  const accountOf = yield* makeAccount
  const conversations = yield* makeConversationLines
  const files = yield* makeFiles
  const jobsOf = yield* makeJobLines
  const log = yield* Audit
  const usage = yield* Usage

  const entriesIn = (filter: AuditFilter, id: UserId) =>
    Effect.map(log.export(filter), (batches) =>
      Stream.flatMap(batches, Stream.fromIterable).pipe(
        Stream.filter(({ actorId, targetId }) => actorId === id || targetId === id)
      )
    )

  return Effect.fnUntraced(function* (user: User) {
    const modifiedAt = yield* DateTime.now
    const { email, id } = user
    // The address may have been another user's before.
    const acts = yield* entriesIn({ actor: email }, id)
    const about = yield* entriesIn({ targetType: "user", targetId: id }, id)
    const account = Stream.unwrap(
      Effect.map(accountOf(user), (value) => Stream.make(encoder.encode(JSON.stringify(value, null, 2))))
    )
    const parts: ReadonlyArray<readonly [name: string, bytes: Stream.Stream<Uint8Array, unknown>]> = [
      ["account.json", account],
      ["conversations.jsonl", lines(conversations.all(id))],
      ["turns.jsonl", lines(conversations.turns(id))],
      ["responses-in-the-background.jsonl", lines(jobsOf(id))],
      ["files.jsonl", lines(Stream.map(files.all(id), Struct.pick(fileFields)))],
      [
        "usage.jsonl",
        lines(
          paged(
            (after: UsageRecord | undefined) => usage.recordsOf(id, after),
            (record) => record
          )
        )
      ],
      ["audit/by-the-user.jsonl", lines(acts)],
      ["audit/about-the-user.jsonl", lines(about)]
    ]
    const described = Stream.fromIterable(parts).pipe(
      Stream.map(([name, bytes]): ArchiveEntry<unknown, never> => ({ name, modifiedAt, bytes }))
    )
    const images = Stream.map(conversations.images(id), conversations.imageEntry(id))
    return Stream.concat(described, Stream.concat(images, Stream.map(files.all(id), files.entryOf)))
  })
})

/** The user, and the lists that are short. */
const makeAccount = Effect.gen(function* () {
  const apiKeys = yield* ApiKeys
  const identities = yield* Identities
  const projects = yield* Projects
  const sessions = yield* Sessions
  const usage = yield* Usage

  return Effect.fnUntraced(function* (user: User) {
    const { email, id } = user
    const keys = yield* Stream.runCollect(
      paged(
        (after: ApiKeyId | undefined) => apiKeys.list(id, after),
        (key) => key.id
      )
    )
    const { daily, monthly } = yield* usage.allowanceOf(id)
    return {
      user: renamed(user),
      limits: { daily: renamed(daily), monthly: renamed(monthly) },
      keys: keys.map((key) => renamed(Struct.omit(key, ["userId"]))),
      identities: (yield* identities.list(email)).map(renamed),
      sessions: (yield* sessions.list(id)).map((session) => renamed(Struct.omit(session, ["userId"]))),
      projects: (yield* projects.membershipsOf(id)).map(renamed)
    }
  })
})

const makeConversationLines = Effect.map(Conversations, (conversations) => {
  const all = (userId: UserId) =>
    paged(
      (after) => conversations.listOf(userId, after),
      (conversation: OwnedConversation) => conversation.id
    )

  const turnsOf = ({ id, turns }: OwnedConversation) =>
    paged(
      (last: { readonly position: number } | undefined) =>
        Effect.map(conversations.turnsOf(id, last === undefined ? 0 : last.position + 1), (data) => ({
          data,
          hasMore: data.length > 0 && (data.at(-1)?.position ?? 0) + 1 < turns
        })),
      (turn) => turn
    ).pipe(Stream.map((turn) => ({ conversationId: id, ...turn })))

  const images = (userId: UserId) =>
    paged(
      (after: OwnedImage["id"] | undefined) =>
        Effect.map(conversations.imagesOf(userId, after), (data) => ({
          data,
          hasMore: data.length === imagesPageRows
        })),
      (image) => image.id
    )

  const imageEntry =
    (userId: UserId) =>
    ({ createdAt, id, mediaType }: OwnedImage): ArchiveEntry<unknown, never> => ({
      name: `images/${id}.${mediaType.replace(/^image\//, "")}`,
      modifiedAt: createdAt,
      bytes: Stream.unwrap(
        Effect.map(conversations.images(userId, [id], imagesBytesMax), (found) =>
          Stream.fromIterable(found.map(({ data }) => new Uint8Array(Buffer.from(data, "base64"))))
        )
      )
    })

  return { all, images, imageEntry, turns: (userId: UserId) => Stream.flatMap(all(userId), turnsOf) }
})

/** The stored responses that were made apart from their requests, with their events. */
const makeJobLines = Effect.map(
  ResponseJobs,
  (jobs) => (userId: UserId) =>
    paged(
      (last: ResponseJob | undefined) =>
        Effect.map(jobs.listOf(userId, last?.responseId), (data) => ({
          data,
          hasMore: data.length === jobsPageRows
        })),
      (job) => job
    ).pipe(Stream.map(Struct.omit(["userId", "leaseFence"])))
)

const makeFiles = Effect.map(FileStore, (store) => {
  const all = (userId: UserId) =>
    paged(
      (after: StoredFile["id"] | undefined) =>
        Effect.map(
          store.list(userId, {
            limit: filesPageRows,
            order: "asc",
            ...(after === undefined ? {} : { after })
          }),
          ({ files, hasMore }) => ({ data: files, hasMore })
        ),
      (file) => file.id
    )

  const entryOf = (file: StoredFile): ArchiveEntry<unknown, never> => ({
    name: entryName(file),
    modifiedAt: file.createdAt,
    bytes: Stream.unwrap(store.content(file.userId, file.id, { start: 0, end: file.bytes }))
  })

  return { all, entryOf }
})

/** A file of an archive. */
export interface ArchiveEntry<E, R> {
  /** The path in the archive, with slashes between directories. Never a path that another person chose. */
  readonly name: string
  readonly modifiedAt: DateTime.Utc
  readonly bytes: Stream.Stream<Uint8Array, E, R>
}

/** Converts a failure of the archive itself, not of one of its files. */
const brokenArchive = (error: unknown): Error =>
  error instanceof Error ? error : new Error("The archive could not be written", { cause: error })

/**
 * A ZIP archive, written while it is read. No file is held in memory, and thanks to ZIP64 the number and size
 * of files are not limited. A failure to read a file fails the stream, so that no broken archive looks
 * complete.
 */
export const zipArchive = <E, R, E2, R2>(
  entries: Stream.Stream<ArchiveEntry<E, R>, E2, R2>
): Stream.Stream<Uint8Array, Error, R | R2> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const context = yield* Effect.context<R | R2>()
      const open = new Set<AsyncIterator<unknown>>()

      /** A canceled client-zip doesn't end the streams that it reads from. */
      const iterate = <A, E3>(stream: Stream.Stream<A, E3, R | R2>): AsyncIterable<A> => ({
        [Symbol.asyncIterator]: () => {
          const iterator = Stream.toAsyncIterableWith(stream, context)[Symbol.asyncIterator]()
          open.add(iterator)
          return {
            next: async () => {
              const result = await iterator.next()
              if (result.done === true) open.delete(iterator)
              return result
            }
          }
        }
      })
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => Promise.all([...open].map((iterator) => iterator.return?.())))
      )
      const files = Stream.map(entries, ({ bytes, modifiedAt, name }) => ({
        name,
        lastModified: DateTime.toDateUtc(modifiedAt),
        input: iterate(bytes)
      }))
      return Stream.fromReadableStream({ evaluate: () => makeZip(iterate(files)), onError: brokenArchive })
    })
  )
