import { type Duration, Effect, Stream, Schema } from "effect"
import { StorageFailed } from "../../domain/Errors.ts"
import type { ByteRange } from "./Pieces.ts"

/** A stored blob. Each put has its own key, even for equal bytes. */
export interface StoredBlob {
  readonly key: string
  readonly bytes: number
  /** 32 bytes. */
  readonly sha256: Uint8Array
}

/** The ids of a store and of the database that it is bound to, as kept in the store. */
export interface StoreMark {
  readonly store: string | null
  readonly database: string | null
}

/** A blob in the trash, and the time of its addition in milliseconds since 1970. */
interface TrashedBlob {
  readonly key: string
  readonly since: number
}

/** Bytes by key, in one kind of store. */
export interface Blobs {
  /** The store's kind and place, for the operator. It holds no secret. */
  readonly place: string
  /**
   * Streams bytes to storage in constant memory. Nothing is left behind if the stream fails or is
   * interrupted. The bytes are durable when it succeeds.
   */
  readonly put: <E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>
  ) => Effect.Effect<StoredBlob, E | StorageFailed, R>
  /** The bytes, or a range of them. Fails if the store holds fewer. Bytes in the trash can still be read. */
  readonly get: (key: string, range?: ByteRange) => Stream.Stream<Uint8Array, StorageFailed>
  readonly has: (key: string) => Effect.Effect<boolean, StorageFailed>
  /** Removes a blob. Succeeds if there is none. */
  readonly remove: (key: string) => Effect.Effect<void, StorageFailed>
  /** The keys whose bytes were put at least this long ago, including those in the trash. */
  readonly olderThan: (age: Duration.Input) => Stream.Stream<string, StorageFailed>
  /**
   * Removes the remains of puts that broke off at least this long ago. `age` must exceed the longest upload.
   */
  readonly sweepLeftovers: (age: Duration.Input) => Effect.Effect<void, StorageFailed>
  /** The store's list of blobs that are to be removed later. Their bytes stay in place until then. */
  readonly trash: {
    readonly add: (key: string) => Effect.Effect<void, StorageFailed>
    /** Removes a key from the list. */
    readonly take: (key: string) => Effect.Effect<void, StorageFailed>
    readonly list: Stream.Stream<TrashedBlob, StorageFailed>
  }
  /** Stores some bytes, reads them back and removes them. Retries nothing. */
  readonly check: Effect.Effect<void, StorageFailed>
  /** Null for a store that is a part of its database. */
  readonly mark: {
    readonly read: Effect.Effect<StoreMark, StorageFailed>
    readonly write: (mark: {
      readonly store: string
      readonly database: string
    }) => Effect.Effect<void, StorageFailed>
  } | null
}

/** Ids are UUIDs of any version, because the id of a new bucket is computed. */
const isId = Schema.is(Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)))

/** The mark of an unused store. */
export const noMark: StoreMark = { store: null, database: null }

/** The text of a mark: the id of the store on the first line, that of its database on the second. */
export const markText = ({
  database,
  store
}: {
  readonly store: string
  readonly database: string
}): string => `${store}\n${database}\n`

/** A mark of only the first line is from a version in which stores were not bound. */
export const parseMark = (text: string): Effect.Effect<StoreMark, StorageFailed> => {
  const [store, database = null, ...others] = text.trim().split("\n")
  return isId(store) && (database === null || isId(database)) && others.length === 0
    ? Effect.succeed({ store, database })
    : Effect.fail(
        new StorageFailed({
          operation: "start",
          cause: new Error(
            "The store's identity can't be understood; `parley file adopt-store` writes it anew"
          )
        })
      )
}

const probe = "Parley stores this to see whether the store works.\n"

/** Stores some bytes, reads them back and removes them. The sweep finds the remains of a failure. */
export const roundTrip = (store: Pick<Blobs, "put" | "get" | "remove">): Effect.Effect<void, StorageFailed> =>
  Effect.gen(function* () {
    const { key } = yield* store.put(Stream.make(new TextEncoder().encode(probe)))
    const text = yield* store.get(key).pipe(
      Stream.decodeText,
      Stream.mkString,
      Effect.onError(() => Effect.ignore(store.remove(key)))
    )
    yield* store.remove(key)
    if (text !== probe) {
      return yield* new StorageFailed({
        operation: "get",
        cause: new Error("Other bytes came back than were stored")
      })
    }
  })
