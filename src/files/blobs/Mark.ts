import { Effect, Schema } from "effect"
import { StorageFailed } from "../../domain/Errors.ts"
import type { StoreMark } from "./Blobs.ts"

/** Of any version: the id of a new bucket is computed. */
const isId = Schema.is(Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)))

/** The mark of a store that nothing was written to. */
export const noMark: StoreMark = { store: null, database: null }

/** The id of the store on the first line, that of its database on the second. */
export const markText = ({
  database,
  store
}: {
  readonly store: string
  readonly database: string
}): string => `${store}\n${database}\n`

/** The first line alone is what a directory had before stores were bound. */
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
