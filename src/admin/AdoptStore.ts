import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { makeBlobs } from "../files/BlobStore.ts"
import { makeStoreBinding, leaveAllStores } from "../files/StoreBinding.ts"
import { Database } from "../sql/Database.ts"
import { layerMigrations } from "../sql/Migrations.ts"

const adopt = Effect.gen(function* () {
  const { database } = yield* AppConfig
  // Nobody else has the embedded database, so what is registered there belongs to processes that are gone.
  if (database.url === null) yield* leaveAllStores
  const binding = yield* makeStoreBinding(yield* makeBlobs)
  return yield* binding.adopt
})

/** Binds the store of files that the settings name to their database, whatever either was bound to. It needs no server. */
export const adoptStore = (settings: Settings) =>
  adopt.pipe(
    Effect.scoped,
    Effect.provide(Layer.provideMerge(layerMigrations, Database.layer)),
    Effect.provide(Layer.mergeAll(NodeServices.layer, NodeCrypto.layer, SecureRandom.layerWebCrypto)),
    Effect.provide(Layer.succeed(AppConfig, settings))
  )
