import { Layer } from "effect"
import { unlockAllJobs } from "../sql/JobQueue.ts"
import { layerReleasing } from "../sql/SoleOwner.ts"
import { Retrieval } from "./Retrieval.ts"
import { jobsTable } from "./vectors/EmbeddingJobs.ts"

/** The index of projects' files, and its search. */
export const RetrievalLayer = Retrieval.layer.pipe(Layer.provide(layerReleasing(unlockAllJobs([jobsTable]))))
