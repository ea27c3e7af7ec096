import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { unlockAllJobs } from "../sql/JobQueue.ts"
import { layerReleasing } from "../sql/SoleOwner.ts"
import { BlobStore } from "./BlobStore.ts"
import { FileStore } from "./FileStore.ts"
import { FileTexts } from "./FileTexts.ts"
import { leaveAllStores } from "./StoreBinding.ts"
import { StoreHealth } from "./StoreHealth.ts"
import { jobsTable } from "./TextJobs.ts"

/** The files of users and their texts, in the store of the settings. */
export const FileStoreLayer = Layer.merge(FileStore.layer, StoreHealth.layer).pipe(
  Layer.provide(BlobStore.layer),
  Layer.provideMerge(Layer.merge(TextExtraction.layer, FileTexts.layer)),
  Layer.provide(NodeServices.layer),
  Layer.provide(layerReleasing(Effect.all([unlockAllJobs([jobsTable]), leaveAllStores])))
)
