import { Effect, Stream } from "effect"
import { StorageFailed } from "../../domain/Errors.ts"
import type { Blobs } from "./Blobs.ts"

const probe = "Parley stores this to see whether the store works.\n"

/** Stores some bytes, reads them back and removes them. What a failure leaves is found by the sweep. */
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
